// PmuEvents: counting perf events, from which programs read what hardware counters show.
#pragma once

#include <linux/perf_event.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bpf/shared/control.h"
#include "bpf/shared/pmu.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"

namespace profd::source {

// One event for each counter and CPU that is online, in the maps of the programs; exists only while
// a session wants counters. Open, Close and Refresh are called by one thread at a time.
class PmuEvents {
 public:
  using Attributes = std::array<perf_event_attr, PROFD_PMU_COUNTERS>;

  // What there is to be read. Neither: this host has no such counters.
  struct Opened {
    std::uint32_t counters = 0;  // bit i: enum profd_pmu_counter i
    bool refused = false;        // some could not be opened without a right that profd lacks
  };

  // `map_fds`: by enum profd_pmu_counter. They and `control` outlive this.
  PmuEvents(std::array<int, PROFD_PMU_COUNTERS> map_fds, profd_control& control,
            const Attributes& attributes, std::string sys_root = "/sys");
  ~PmuEvents() { Close(); }
  PmuEvents(const PmuEvents&) = delete;
  PmuEvents& operator=(const PmuEvents&) = delete;

  // Opens all, unless they are open. In error nothing is.
  [[nodiscard]] Result<Opened> Open();
  void Close();
  // Opens those of CPUs that came online; call it about once a second. An event whose CPU went away
  // is dead even when the CPU is back.
  void Refresh();
  // "cycles, instructions, cache misses", or why there are none: as it was when this was made.
  [[nodiscard]] const std::string& Describe() const { return description_; }

 private:
  struct Cpu {
    std::uint32_t number = 0;
    std::array<UniqueFd, PROFD_PMU_COUNTERS> events;
    std::uint64_t enabled_ns = 0;  // of the first one, at the last Refresh
  };

  // Which counters there are, by trying them on one CPU.
  [[nodiscard]] Result<Opened> Probe(std::uint32_t cpu) const;
  [[nodiscard]] Result<Cpu> OpenCpu(std::uint32_t number) const;
  [[nodiscard]] Result<void> OpenAll(const std::vector<std::uint32_t>& online);
  void Forget(const Cpu& cpu) const;
  // Readings from before do not belong to the events that are open now.
  void RaiseGeneration() const;
  [[nodiscard]] std::string MakeDescription() const;

  const std::array<int, PROFD_PMU_COUNTERS> map_fds_;
  profd_control& control_;
  const Attributes attributes_;
  const std::string sys_root_;
  Opened opened_;
  std::vector<Cpu> cpus_;  // empty: closed
  const std::string description_;
};

// Cycles, instructions and cache misses of the CPUs' own counters.
[[nodiscard]] PmuEvents::Attributes HardwareCounterAttributes();

}  // namespace profd::source
