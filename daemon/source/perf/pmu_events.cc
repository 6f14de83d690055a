#include "daemon/source/perf/pmu_events.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/session/no_counters.h"
#include "daemon/source/bpf/control_word.h"
#include "daemon/source/perf/cpu_list.h"
#include "daemon/source/perf/perf_event.h"

namespace profd::source {
namespace {

constexpr std::array<const char*, PROFD_PMU_COUNTERS> kNames{"cycles", "instructions",
                                                             "cache misses"};

std::uint32_t BitOf(std::size_t counter) { return std::uint32_t{1} << counter; }

}  // namespace

PmuEvents::Attributes HardwareCounterAttributes() {
  return {MakePerfAttr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES),
          MakePerfAttr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS),
          MakePerfAttr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES)};
}

PmuEvents::PmuEvents(std::array<int, PROFD_PMU_COUNTERS> map_fds, profd_control& control,
                     const Attributes& attributes, std::string sys_root)
    : map_fds_(map_fds),
      control_(control),
      attributes_(attributes),
      sys_root_(std::move(sys_root)),
      description_(MakeDescription()) {}

Result<PmuEvents::Opened> PmuEvents::Probe(std::uint32_t cpu) const {
  Opened found;
  for (std::size_t i = 0; i < attributes_.size(); ++i) {
    const auto event = OpenCpuEvent(attributes_[i], cpu, "hardware counters");
    if (event)
      found.counters |= BitOf(i);
    else if (event.error().code == ErrorCode::kPermissionDenied)
      found.refused = true;
    else if (event.error().code != ErrorCode::kUnsupported &&
             event.error().code != ErrorCode::kNotFound)
      return event.error();
  }
  return found;
}

std::string PmuEvents::MakeDescription() const {
  const auto online = OnlineCpus(sys_root_);
  if (!online || online->empty()) return "no hardware counters: no list of CPUs";
  const auto found = Probe(online->front());
  if (!found) return "no hardware counters: " + found.error().message;
  std::string names;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if ((found->counters & BitOf(i)) == 0) continue;
    if (!names.empty()) names += ", ";
    names += kNames[i];
  }
  if (!names.empty()) return names;
  return std::string(session::NoCountersText(found->refused));
}

Result<PmuEvents::Cpu> PmuEvents::OpenCpu(std::uint32_t number) const {
  Cpu cpu{.number = number, .events = {}, .enabled_ns = 0};
  for (std::size_t i = 0; i < attributes_.size(); ++i) {
    if ((opened_.counters & BitOf(i)) == 0) continue;
    auto event = OpenCpuEvent(attributes_[i], number, "hardware counters");
    const int fd = event ? event->get() : -1;
    if (!event || ::bpf_map_update_elem(map_fds_[i], &number, &fd, BPF_ANY) != 0) {
      Error error =
          event ? ErrorFromErrno(errno, "cannot hand a counter to the BPF side") : event.error();
      Forget(cpu);
      return error;
    }
    cpu.events[i] = *std::move(event);
  }
  return cpu;
}

Result<void> PmuEvents::OpenAll(const std::vector<std::uint32_t>& online) {
  for (const std::uint32_t number : online) {
    auto cpu = OpenCpu(number);
    if (!cpu && cpu.error().code == ErrorCode::kNotFound) continue;  // went offline just now
    if (!cpu) return cpu.error();
    cpus_.push_back(*std::move(cpu));
  }
  return {};
}

Result<PmuEvents::Opened> PmuEvents::Open() {
  if (!cpus_.empty()) return opened_;
  const auto online = OnlineCpus(sys_root_);
  if (!online) return online.error();
  if (online->empty()) return Opened{};
  auto found = Probe(online->front());
  if (!found || found->counters == 0) return found;
  opened_ = *found;
  if (auto all = OpenAll(*online); !all) {
    Close();
    return all.error();
  }
  StoreControl(control_.pmu_counters, std::uint64_t{opened_.counters});
  RaiseGeneration();
  return opened_;
}

void PmuEvents::Close() {
  for (const Cpu& cpu : cpus_) Forget(cpu);
  cpus_.clear();
  opened_ = {};
}

void PmuEvents::Refresh() {
  if (cpus_.empty()) return;
  const auto online = OnlineCpus(sys_root_);
  if (!online) return;
  const auto first = static_cast<std::size_t>(
      std::ranges::find_if(cpus_.front().events, &UniqueFd::valid) - cpus_.front().events.begin());
  std::erase_if(cpus_, [&](Cpu& cpu) {
    const std::uint64_t before_ns = std::exchange(cpu.enabled_ns, TimeEnabledNs(cpu.events[first]));
    const bool gone =
        cpu.enabled_ns <= before_ns || !std::ranges::binary_search(*online, cpu.number);
    if (gone) Forget(cpu);
    return gone;
  });
  bool opened = false;
  for (const std::uint32_t number : *online) {
    if (std::ranges::any_of(cpus_, [&](const Cpu& cpu) { return cpu.number == number; })) continue;
    // A CPU on its way out fails here and is tried again at the next call.
    auto cpu = OpenCpu(number);
    if (!cpu) continue;
    cpus_.push_back(*std::move(cpu));
    opened = true;
  }
  if (opened) RaiseGeneration();
}

void PmuEvents::Forget(const Cpu& cpu) const {
  for (const int map : map_fds_) (void)::bpf_map_delete_elem(map, &cpu.number);
}

void PmuEvents::RaiseGeneration() const {
  StoreControl(control_.pmu_generation, control_.pmu_generation + 1);
}

}  // namespace profd::source
