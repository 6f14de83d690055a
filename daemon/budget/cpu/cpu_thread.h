// CpuThread: measures what profd's work for threads costs, and keeps it in the CPU budget.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "daemon/base/clock.h"
#include "daemon/base/heartbeat.h"
#include "daemon/budget/cpu/cpu_controller.h"
#include "daemon/session/session_control.h"

namespace profd::budget {

// Job: reads what sampling and thread clocks have cost, lets CpuController decide, and gives new
// period factors to the BPF side. The cost is the time of the BPF programs and the CPU time of the
// stages. Names and unwind tables are not part of it, because each is made once, whatever the rate.
// Thread: its own ("profd-budget"). It wakes four times a second, and every kFrequent while a
// requested session runs.
// Owner: the composition root.
class CpuThread {
 public:
  static constexpr std::chrono::milliseconds kFrequent{50};
  // Between two readings of the host's switches: with many CPUs each takes a while.
  static constexpr std::uint64_t kSwitchesApartNs = 1'000'000'000;

  // Since the stages began.
  struct Work {
    std::uint64_t stages_ns = 0;  // CPU time of the stages, without the search for names
    session::PerKind<session::SampleCounts> samples;
    std::uint64_t snapshots = 0;  // stacks that the stages have handled beside them
    std::uint64_t others = 0;     // events without a stack
  };

  // All must outlive this. `clock_limit_cpus`: what thread clocks may cost; 0: no limit.
  // `host_switches`: context switches of all CPUs since boot; nothing: that is not known.
  CpuThread(session::SessionControl& control, const Clock& clock, double clock_limit_cpus,
            std::function<Work()> work,
            std::function<std::optional<std::uint64_t>()> host_switches);
  ~CpuThread();
  CpuThread(const CpuThread&) = delete;
  CpuThread& operator=(const CpuThread&) = delete;

  [[nodiscard]] CpuStatus status() const;  // from any thread
  [[nodiscard]] const Heartbeat& heartbeat() const { return beat_; }
  void Stop();  // idempotent

 private:
  void Run(const std::stop_token& stop);
  void Update();

  session::SessionControl& control_;
  const Clock& clock_;
  const std::function<Work()> work_;
  const std::function<std::optional<std::uint64_t>()> host_switches_;
  std::uint64_t switches_read_ns_ = 0;
  CpuController controller_;
  mutable std::mutex mutex_;
  CpuStatus status_;
  Heartbeat beat_{"CPU budget"};
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace profd::budget
