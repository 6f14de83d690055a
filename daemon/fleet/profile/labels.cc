#include "daemon/fleet/profile/labels.h"

#include <algorithm>
#include <cstddef>

#include "daemon/base/files.h"
#include "daemon/base/utf8.h"

namespace profd::fleet {
namespace {

constexpr std::size_t kMaxValueBytes = 1024;
constexpr std::size_t kUidLength = 36;  // "0a1b2c3d-1111-2222-3333-444455556666"

bool IsPodUid(std::string_view text) {
  if (text.size() != kUidLength) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
    const char c = text[i];
    const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (hyphen ? c != '-' : !digit) return false;
  }
  return true;
}

// Without its type; "" for a unit that is no service.
std::string_view ServiceUnit(std::string_view unit) {
  constexpr std::string_view kService = ".service";
  if (!unit.ends_with(kService)) return {};
  unit.remove_suffix(kService.size());
  return unit;
}

// A unit that starts containers is not what runs in them.
std::string ServiceOf(const aggregate::ProfileProcess& process) {
  if (process.container.empty())
    if (const auto unit = ServiceUnit(process.unit); !unit.empty()) return std::string(unit);
  if (!process.executable.empty()) return std::string(BaseName(process.executable));
  // The kernel's own threads, each of which is a process, have no program.
  if (process.command_line.empty() && process.unit.empty() && process.container.empty())
    return "kernel";
  return process.comm;
}

void Set(Labels& labels, const char* name, std::string_view value) {
  if (value.empty()) return;
  std::string text = ValidUtf8(value.substr(0, kMaxValueBytes));
  labels.emplace(name, std::move(text));
}

}  // namespace

std::string PodUidOf(std::string_view cgroup) {
  while (!cgroup.empty()) {
    const std::size_t slash = cgroup.find('/');
    std::string_view part = cgroup.substr(0, slash);
    cgroup.remove_prefix(slash == std::string_view::npos ? cgroup.size() : slash + 1);
    // "pod<uid>", or "kubepods-burstable-pod<uid with _>.slice".
    constexpr std::string_view kSlice = ".slice";
    const bool systemd = part.ends_with(kSlice) && part.starts_with("kubepods");
    if (systemd) part.remove_suffix(kSlice.size());
    if (part.size() < kUidLength + 3) continue;
    const std::size_t begin = part.size() - kUidLength;
    if (part.substr(begin - 3, 3) != "pod" || (!systemd && begin != 3)) continue;
    std::string uid(part.substr(begin));
    if (systemd) std::ranges::replace(uid, '_', '-');
    if (IsPodUid(uid)) return uid;
  }
  return {};
}

Labels LabelsOf(const aggregate::ProfileProcess& process, std::string_view host) {
  Labels labels;
  Set(labels, "service.name", ServiceOf(process));
  Set(labels, "host.name", host);
  Set(labels, "process.executable.name", BaseName(process.executable));
  Set(labels, "process.executable.build_id.gnu", process.build_id);
  Set(labels, "process.owner", process.owner.user);
  Set(labels, "container.id", process.container);
  Set(labels, "k8s.pod.uid", PodUidOf(process.cgroup));
  Set(labels, "systemd.unit", process.unit);
  if (process.group_size == 0) Set(labels, "__process.pid", std::to_string(process.shown_pid));
  Set(labels, "__process.command_line", process.command_line);
  Set(labels, "__process.comm", process.comm);
  Set(labels, "__process.executable.path", process.executable);
  Set(labels, "__process.cgroup", process.cgroup);
  Set(labels, "__process.parent", process.parent);
  if (process.owner.uid) Set(labels, "__process.owner.uid", std::to_string(*process.owner.uid));
  return labels;
}

}  // namespace profd::fleet
