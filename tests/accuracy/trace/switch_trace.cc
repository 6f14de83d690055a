#include "tests/accuracy/trace/switch_trace.h"

#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

namespace profd::accuracy {
namespace {

constexpr const char* kKiBPerCpu = "32768";
constexpr std::uint64_t kNsPerUs = 1'000;

Error Failed(const std::string& what) {
  return {ErrorCode::kUnavailable, what + ": " + std::strerror(errno), ""};
}

bool Write(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.close();
  return !out.fail();
}

std::string Read(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::optional<std::uint64_t> NumberAt(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return number;
}

// What follows `key`, the last one: names of threads may hold anything.
std::string_view ValueOf(std::string_view fields, std::string_view key) {
  const auto at = fields.rfind(key);
  return at == std::string_view::npos ? std::string_view{} : fields.substr(at + key.size());
}

// "716.945303" in us.
std::optional<std::uint64_t> TimeNs(std::string_view text) {
  const auto dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto seconds = NumberAt(text.substr(0, dot));
  const auto us = NumberAt(text.substr(dot + 1));
  if (!seconds || !us) return std::nullopt;
  return (*seconds * 1'000'000 + *us) * kNsPerUs;
}

// "          bash-17970   [000] d..2.   716.945303: sched_switch: prev_comm=..."
std::optional<SwitchEvent> ParseLine(std::string_view line) {
  constexpr std::string_view kNames[] = {
      ": sched_switch: ", ": sched_waking: ", ": sched_wakeup: "};
  std::size_t at = std::string_view::npos;
  int kind = 0;
  for (; kind < 3; ++kind) {
    at = line.find(kNames[kind]);
    if (at != std::string_view::npos) break;
  }
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view fields = line.substr(at + kNames[kind].size());
  const std::string_view head = line.substr(0, at);
  const auto time_at = head.rfind(' ');
  const auto cpu_at = head.rfind(" [");
  if (time_at == std::string_view::npos || cpu_at == std::string_view::npos) return std::nullopt;
  const auto flags_at = head.find("] ", cpu_at);
  const auto tid_at = head.rfind('-', cpu_at);
  if (flags_at == std::string_view::npos || tid_at == std::string_view::npos) return std::nullopt;
  const auto time_ns = TimeNs(head.substr(time_at + 1));
  const auto tid = NumberAt(head.substr(tid_at + 1));
  const char context = head.size() > flags_at + 4 ? head[flags_at + 4] : '.';
  const auto other = NumberAt(ValueOf(fields, kind == 0 ? " next_pid=" : " pid="));
  if (!time_ns || !tid || !other) return std::nullopt;
  return SwitchEvent{.kind = static_cast<SwitchEvent::Kind>(kind),
                     .time_ns = *time_ns,
                     .tid = static_cast<std::uint32_t>(*tid),
                     .interrupt = context != '.',
                     .other = static_cast<std::uint32_t>(*other),
                     .runnable = kind == 0 && ValueOf(fields, " prev_state=").starts_with('R')};
}

}  // namespace

std::vector<SwitchEvent> ParseSwitches(std::string_view text) {
  std::vector<SwitchEvent> events;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size() - 1);
    if (const auto event = ParseLine(text.substr(0, end))) events.push_back(*event);
    text.remove_prefix(end + 1);
  }
  std::ranges::stable_sort(events, {}, &SwitchEvent::time_ns);
  return events;
}

Result<SwitchTrace> SwitchTrace::Start() {
  SwitchTrace trace;
  std::string folder = std::filesystem::temp_directory_path() / "profd-trace-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return Failed(folder);
  trace.mount_ = folder;
  if (::mount("nodev", folder.c_str(), "tracefs", 0, nullptr) != 0) return Failed("tracefs");
  const std::string instance = folder + "/instances/profd-" + std::to_string(::getpid());
  if (::mkdir(instance.c_str(), 0700) != 0) return Failed(instance);
  trace.instance_ = instance;
  const bool written = Write(trace.File("trace_clock"), "mono") &&
                       Write(trace.File("buffer_size_kb"), kKiBPerCpu) &&
                       Write(trace.File("events/sched/sched_switch/enable"), "1") &&
                       Write(trace.File("events/sched/sched_waking/enable"), "1") &&
                       Write(trace.File("events/sched/sched_wakeup/enable"), "1");
  if (!written) return Failed(instance);
  return trace;
}

SwitchTrace::SwitchTrace(SwitchTrace&& other) noexcept
    : mount_(std::exchange(other.mount_, {})), instance_(std::exchange(other.instance_, {})) {}

SwitchTrace::~SwitchTrace() {
  if (!instance_.empty()) ::rmdir(instance_.c_str());
  if (mount_.empty()) return;
  ::umount2(mount_.c_str(), MNT_DETACH);
  ::rmdir(mount_.c_str());
}

Result<std::vector<SwitchEvent>> SwitchTrace::Stop() {
  if (!Write(File("tracing_on"), "0")) return Failed(instance_);
  for (const auto& cpu : std::filesystem::directory_iterator(File("per_cpu"))) {
    const std::string stats = Read(cpu.path() / "stats");
    for (const char* key : {"overrun: ", "dropped events: "})
      if (NumberAt(ValueOf(stats, key)).value_or(0) != 0)
        return Error{ErrorCode::kExhausted, "the buffer of a trace was too small: " + stats, ""};
  }
  return ParseSwitches(Read(File("trace")));
}

}  // namespace profd::accuracy
