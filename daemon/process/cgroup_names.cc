#include "daemon/process/cgroup_names.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace profd::process {
namespace {

constexpr std::size_t kIdDigits = 64;
constexpr std::string_view kScope = ".scope";
constexpr std::string_view kSlice = ".slice";

bool IsId(std::string_view text) {
  return text.size() == kIdDigits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// "docker-ID.scope", "kubepods-pod1.slice:cri-containerd:ID", "ID".
std::string_view IdIn(std::string_view part) {
  if (part.ends_with(kScope)) part.remove_suffix(kScope.size());
  const auto separator = part.find_last_of("-:");
  if (separator == std::string_view::npos) return IsId(part) ? part : std::string_view();
  if (part.substr(0, separator).ends_with("conmon")) return {};
  part.remove_prefix(separator + 1);
  return IsId(part) ? part : std::string_view();
}

std::string_view LxcName(std::string_view above, std::string_view part) {
  constexpr std::string_view kPayload = "lxc.payload.";
  if (part.starts_with(kPayload)) return part.substr(kPayload.size());
  return above == "lxc" ? part : std::string_view();
}

// Takes the last part off the path.
std::string_view TakeLast(std::string_view& path) {
  const auto slash = path.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? path : path.substr(slash + 1);
  path = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  return last;
}

std::string_view TakeFirst(std::string_view& path) {
  const auto slash = path.find('/');
  const std::string_view first = path.substr(0, slash);
  path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  return first;
}

bool IsUnit(std::string_view name) {
  constexpr std::array<std::string_view, 5> kKinds = {".service", ".scope", ".socket", ".mount",
                                                      ".swap"};
  return std::ranges::any_of(kKinds, [name](std::string_view kind) {
    return name.size() > kind.size() && name.ends_with(kind);
  });
}

// "0a1b2c3d-1111-2222-3333-444455556666".
constexpr std::size_t kUidLength = 36;

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

}  // namespace

std::string ContainerOf(std::string_view cgroup) {
  while (!cgroup.empty()) {
    const std::string_view part = TakeLast(cgroup);
    if (const auto id = IdIn(part); !id.empty()) return std::string(id);
    std::string_view above = cgroup;
    if (const auto name = LxcName(TakeLast(above), part); !name.empty()) return std::string(name);
  }
  return {};
}

std::string UnitOf(std::string_view cgroup) {
  while (!cgroup.empty()) {
    std::string_view part = TakeFirst(cgroup);
    if (part.empty() || part.ends_with(kSlice)) continue;
    if (part.starts_with('_')) part.remove_prefix(1);  // how systemd keeps off the kernel's names
    return IsUnit(part) ? std::string(part) : std::string();
  }
  return {};
}

std::string PodUidOf(std::string_view cgroup) {
  while (!cgroup.empty()) {
    std::string_view part = TakeFirst(cgroup);
    // "pod<uid>", or "kubepods-burstable-pod<uid with _>.slice".
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

}  // namespace profd::process
