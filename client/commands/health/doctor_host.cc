#include <sys/stat.h>

#include <charconv>
#include <optional>
#include <sstream>

#include "client/commands/health/doctor_checks.h"
#include "client/text/number.h"
#include "daemon/base/proc/kernel_release.h"

namespace profd::client {
namespace {

constexpr std::int64_t kUsualHz = 99;

bool Exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::optional<std::int64_t> Number(const ProcFs& proc, const char* path) {
  const Result<std::string> text = proc.Read(path, 256);
  std::int64_t number = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc{})
    return std::nullopt;
  return number;
}

Finding Kernel(const ProcFs& proc) {
  const Result<std::string> text = proc.Read("sys/kernel/osrelease", 256);
  if (!text) return {"kernel", Verdict::kUnknown, text.error().message, ""};
  const std::string release = FirstLine(*text);
  const auto parsed = ParseKernelRelease(release);
  if (!parsed) return {"kernel", Verdict::kUnknown, "unknown release " + release, ""};
  if (*parsed >= kOldestKernel) return {"kernel", Verdict::kOk, release, ""};
  return {"kernel", Verdict::kFail, release + " is too old", "a kernel of 5.18 or newer"};
}

Finding Btf(const ProcFs& sys) {
  if (Exists(sys.Path("kernel/btf/vmlinux")))
    return {"BTF", Verdict::kOk, sys.Path("kernel/btf/vmlinux"), ""};
  return {"BTF", Verdict::kFail,
          "the kernel has no description of its types: no " + sys.Path("kernel/btf/vmlinux"),
          "a kernel built with CONFIG_DEBUG_INFO_BTF=y"};
}

Finding Lockdown(const ProcFs& sys) {
  const Result<std::string> text = sys.Read("kernel/security/lockdown", 256);
  if (!text && text.error().code != ErrorCode::kNotFound)
    return {"lockdown", Verdict::kUnknown, text.error().message, ""};
  if (text && LockdownForbidsReading(*text))
    return {"lockdown", Verdict::kFail, "confidentiality: BPF may not read memory",
            "boot with lockdown=integrity or without lockdown"};
  return {"lockdown", Verdict::kOk, text ? FirstLine(*text) : "the kernel has none", ""};
}

Finding Jit(const ProcFs& proc) {
  const auto enabled = Number(proc, "sys/net/core/bpf_jit_enable");
  if (!enabled)
    return {"BPF JIT", Verdict::kUnknown, "net.core.bpf_jit_enable cannot be read here", ""};
  if (*enabled != 0)
    return {"BPF JIT", Verdict::kOk, "net.core.bpf_jit_enable = " + std::to_string(*enabled), ""};
  return {
      "BPF JIT", Verdict::kWarn,
      "net.core.bpf_jit_enable = 0: BPF programs are interpreted, and cost several times as much",
      "sysctl net.core.bpf_jit_enable=1"};
}

Finding SampleRate(const ProcFs& proc) {
  const char* name = "kernel.perf_event_max_sample_rate";
  const auto rate = Number(proc, "sys/kernel/perf_event_max_sample_rate");
  if (!rate)
    return {"sample rate", Verdict::kFail, std::string(name) + " is not there: no perf events",
            "a kernel built with CONFIG_PERF_EVENTS=y"};
  const std::string found =
      std::string(name) + " = " + FormatCount(static_cast<std::uint64_t>(*rate));
  if (*rate >= kUsualHz) return {"sample rate", Verdict::kOk, found, ""};
  return {"sample rate", Verdict::kWarn,
          found + ": the kernel has lowered it, and samples are fewer than requested",
          "sysctl kernel.perf_event_max_sample_rate=100000"};
}

// From 3 on, which only Debian's kernels know, CAP_PERFMON is not enough.
Finding PerfEvents(const ProcFs& proc) {
  const auto level = Number(proc, "sys/kernel/perf_event_paranoid");
  if (!level)
    return {"perf events", Verdict::kUnknown, "kernel.perf_event_paranoid cannot be read", ""};
  const std::string found = "kernel.perf_event_paranoid = " + std::to_string(*level);
  if (*level <= 2) return {"perf events", Verdict::kOk, found, ""};
  return {"perf events", Verdict::kWarn,
          found + ": only root may sample, a profd with capabilities of its own may not",
          "sysctl kernel.perf_event_paranoid=2"};
}

Finding KernelNames(const ProcFs& proc) {
  const auto restricted = Number(proc, "sys/kernel/kptr_restrict");
  if (!restricted)
    return {"kernel names", Verdict::kUnknown, "kernel.kptr_restrict cannot be read", ""};
  const std::string found = "kernel.kptr_restrict = " + std::to_string(*restricted);
  if (*restricted < 2) return {"kernel names", Verdict::kOk, found, ""};
  return {"kernel names", Verdict::kWarn,
          found + ": addresses of kernel functions are hidden from all",
          "sysctl kernel.kptr_restrict=1"};
}

Finding DebugInformation(const HostFiles& host) {
  if (!host.debuginfod_urls.empty())
    return {"debug info", Verdict::kOk, "fetched from " + host.debuginfod_urls, ""};
  if (Exists(host.debug_files))
    return {"debug info", Verdict::kOk, host.debug_files + "; DEBUGINFOD_URLS is not set", ""};
  return {"debug info", Verdict::kWarn,
          "no debug files on this host: inlined functions and lines are not shown, nor names of "
          "stripped programs",
          "install -dbg or -dbgsym packages, or set DEBUGINFOD_URLS for profd"};
}

// Whether a line of maps is executable memory that no file backs and the kernel has not made.
bool IsMadeCode(const std::string& line) {
  std::istringstream fields(line);
  std::string range;
  std::string rights;
  std::string offset;
  std::string device;
  std::string inode;
  std::string path;
  fields >> range >> rights >> offset >> device >> inode >> path;
  if (rights.size() < 3 || rights[2] != 'x') return false;
  return path.empty() || path == "//anon" || path.starts_with("[anon") ||
         path.starts_with("/memfd:") || path.starts_with("/dev/zero");
}

// The pid that the process knows itself by.
std::uint32_t InnermostPid(std::uint32_t pid, const ProcFs& proc) {
  const Result<std::string> status = proc.Read(std::to_string(pid) + "/status");
  const std::size_t at = status ? status->find("\nNSpid:") : std::string::npos;
  if (at == std::string::npos) return pid;
  std::istringstream numbers(status->substr(at + 7, status->find('\n', at + 1) - at - 7));
  std::uint32_t last = pid;
  for (std::uint32_t number = 0; numbers >> number;) last = number;
  return last;
}

// Where the names of code made at run time that was seen are from, other than a perf map; "": none
// was seen, or none had a name.
std::string SourceOfMadeNames(const v1::Profile& seen) {
  for (const v1::Frame& frame : seen.frames()) {
    if (frame.kind() != v1::FRAME_JIT) continue;
    return frame.module_info() == 0 ? "a jitdump that it writes"
                                    : "objects that it registers for debuggers (gdb jit)";
  }
  return "";
}

}  // namespace

std::vector<Finding> CheckHost(const HostFiles& host) {
  return {Kernel(host.proc),      Btf(host.sys),         Lockdown(host.sys),
          Jit(host.proc),         SampleRate(host.proc), PerfEvents(host.proc),
          KernelNames(host.proc), DebugInformation(host)};
}

std::vector<Finding> CheckProcess(std::uint32_t pid, const HostFiles& host,
                                  const v1::Profile* seen) {
  const Result<std::string> maps = host.proc.Read(std::to_string(pid) + "/maps");
  if (!maps) return {{"code made at run time", Verdict::kUnknown, maps.error().message, ""}};
  std::istringstream lines(*maps);
  bool makes_code = false;
  for (std::string line; !makes_code && std::getline(lines, line);) makes_code = IsMadeCode(line);
  if (!makes_code) return {{"code made at run time", Verdict::kOk, "none", ""}};
  const std::string map = "/tmp/perf-" + std::to_string(InnermostPid(pid, host.proc)) + ".map";
  if (Exists(host.proc.Path(std::to_string(pid) + "/root" + map)))
    return {{"code made at run time", Verdict::kOk, "its names are in " + map, ""}};
  if (const std::string source = seen == nullptr ? "" : SourceOfMadeNames(*seen); !source.empty())
    return {{"code made at run time", Verdict::kOk, "its names are in " + source, ""}};
  return {{"code made at run time", Verdict::kWarn, "there is some, and no " + map + " names it",
           "node --perf-basic-prof, java -XX:+DumpPerfMapAtExit, PYTHONPERFSUPPORT=1, ..."}};
}

}  // namespace profd::client
