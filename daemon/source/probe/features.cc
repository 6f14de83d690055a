#include "daemon/source/probe/features.h"

#include <bpf/btf.h>
#include <sys/utsname.h>

#include <cerrno>
#include <charconv>
#include <memory>

#include "daemon/base/proc/kernel_release.h"
#include "daemon/source/probe/capabilities.h"

namespace profd::source {
namespace {

constexpr const char* kBtfPath = "/sys/kernel/btf/vmlinux";

struct FreeBtf {
  void operator()(btf* types) const { ::btf__free(types); }
};
using BtfPtr = std::unique_ptr<btf, FreeBtf>;

Result<BtfPtr> LoadBtf(const std::string& path) {
  BtfPtr types(::btf__parse_raw(path.c_str()));
  if (types) return types;
  const Error error = ErrorFromErrno(errno, "cannot read " + path);
  if (error.code == ErrorCode::kNotFound) {
    return Error{ErrorCode::kUnsupported, "this kernel has no BTF (" + path + ")",
                 "profd needs a kernel built with CONFIG_DEBUG_INFO_BTF=y"};
  }
  return error;
}

bool HasTracepoint(const btf& types, const char* name) {
  const std::string type = std::string("btf_trace_") + name;
  return ::btf__find_by_name_kind(&types, type.c_str(), BTF_KIND_TYPEDEF) > 0;
}

bool HasFunction(const btf& types, const char* name) {
  return ::btf__find_by_name_kind(&types, name, BTF_KIND_FUNC) > 0;
}

bool HasField(const btf& types, const char* type, std::string_view field) {
  const int id = ::btf__find_by_name_kind(&types, type, BTF_KIND_STRUCT);
  if (id <= 0) return false;
  const btf_type* found = ::btf__type_by_id(&types, static_cast<__u32>(id));
  const btf_member* members = btf_members(found);
  for (std::uint32_t i = 0; i < btf_vlen(found); ++i) {
    const char* name = ::btf__name_by_offset(&types, members[i].name_off);
    if (name != nullptr && field == name) return true;
  }
  return false;
}

}  // namespace

Result<void> CheckRelease(const std::string& release) {
  const auto parsed = ParseKernelRelease(release);
  if (!parsed) return Error{ErrorCode::kUnsupported, "unknown kernel release " + release, ""};
  if (*parsed >= kOldestKernel) return {};
  return Error{ErrorCode::kUnsupported,
               "kernel " + std::to_string(parsed->first) + "." + std::to_string(parsed->second) +
                   " is too old: profd needs " + std::to_string(kOldestKernel.first) + "." +
                   std::to_string(kOldestKernel.second) + " or newer",
               ""};
}

Result<void> CheckLockdown(const std::string& text) {
  if (!LockdownForbidsReading(text)) return {};
  return Error{ErrorCode::kUnsupported,
               "kernel lockdown forbids BPF to read memory (mode confidentiality)",
               "boot with lockdown=integrity or without lockdown"};
}

Result<void> ReadKernelTypes(const std::string& path, Features& features) {
  const auto types = LoadBtf(path);
  if (!types) return types.error();
  features.sched_exit_tp = HasTracepoint(**types, "sched_exit_tp");
  features.cgroup_attach = HasTracepoint(**types, "cgroup_attach_task");
  features.run_delay = HasField(**types, "sched_info", "run_delay");
  if (features.run_delay) {
    const bool iterates =
        HasFunction(**types, "bpf_iter_task_new") && HasFunction(**types, "bpf_task_from_pid");
    features.observers = iterates ? ObserverKind::kProgram : ObserverKind::kIterator;
  }
  return {};
}

Result<Features> ProbeFeatures() {
  Features features;
  utsname name{};
  if (::uname(&name) != 0) return ErrorFromErrno(errno, "uname");
  features.kernel_release = name.release;
  PROFD_TRY(CheckRelease(features.kernel_release));

  const std::uint64_t capabilities = EffectiveCapabilities();
  PROFD_TRY(CheckCapabilities(capabilities));
  features.missing_capabilities = MissingCapabilities(capabilities);

  const auto lockdown = ProcFs("/sys").Read("kernel/security/lockdown", 256);
  if (lockdown) PROFD_TRY(CheckLockdown(*lockdown));

  PROFD_TRY(ReadKernelTypes(kBtfPath, features));
  return features;
}

std::uint64_t MaxSampleRateHz(const ProcFs& proc) {
  const auto text = proc.Read("sys/kernel/perf_event_max_sample_rate", 64);
  std::uint64_t rate_hz = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), rate_hz);
  return rate_hz;
}

}  // namespace profd::source
