#include "daemon/source/procfs/cpu_limits.h"

#include <charconv>
#include <cstddef>

#include "daemon/base/proc/proc_stat.h"
#include "daemon/source/perf/cpu_list.h"

namespace profd::source {
namespace {

constexpr std::size_t kMaxBytes = 65'536;
constexpr std::uint64_t kNsPerUs = 1'000;
constexpr std::size_t kMaxDepth = 64;  // cgroups above each other that are looked at

std::uint64_t NumberIn(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// "200000 100000": us in a period of us. 0: "max", or not understood.
double QuotaCpus(std::string_view text) {
  const std::uint64_t quota = NumberIn(text);
  const std::size_t space = text.find(' ');
  const std::uint64_t period =
      space == std::string_view::npos ? 0 : NumberIn(text.substr(space + 1));
  if (quota == 0 || period == 0) return 0;
  return static_cast<double>(quota) / static_cast<double>(period);
}

}  // namespace

std::optional<std::uint32_t> AllowedCpus(const ProcFs& proc, std::uint32_t pid) {
  const auto status = proc.Read(std::to_string(pid) + "/status", kMaxBytes);
  if (!status) return std::nullopt;
  std::string_view list = StatusLine(*status, "Cpus_allowed_list:");
  while (!list.empty() && (list.front() == '\t' || list.front() == ' ')) list.remove_prefix(1);
  const auto cpus = ParseCpuList(list);
  if (!cpus || cpus->empty()) return std::nullopt;
  return static_cast<std::uint32_t>(cpus->size());
}

std::optional<CpuQuota> QuotaOf(const ProcFs& cgroups, std::string_view cgroup) {
  // A process in a cgroup namespace of its own may have a path that leads out of the hierarchy.
  if (cgroup.find("..") != std::string_view::npos) return std::nullopt;
  std::optional<CpuQuota> lowest;
  for (std::size_t depth = 0; depth < kMaxDepth && cgroup.size() > 1; ++depth) {
    const auto max = cgroups.Read(std::string(cgroup.substr(1)) + "/cpu.max", kMaxBytes);
    const double cpus = max ? QuotaCpus(*max) : 0;
    if (cpus != 0 && (!lowest || cpus < lowest->cpus))
      lowest = CpuQuota{.cgroup = std::string(cgroup), .cpus = cpus};
    cgroup = cgroup.substr(0, cgroup.rfind('/'));
  }
  if (!lowest) return std::nullopt;
  const auto use = cgroups.Read(lowest->cgroup.substr(1) + "/cpu.stat", kMaxBytes);
  if (!use) return lowest;
  lowest->periods = NumberIn(StatusLine(*use, "nr_periods "));
  lowest->throttled = NumberIn(StatusLine(*use, "nr_throttled "));
  lowest->throttled_ns = NumberIn(StatusLine(*use, "throttled_usec ")) * kNsPerUs;
  return lowest;
}

}  // namespace profd::source
