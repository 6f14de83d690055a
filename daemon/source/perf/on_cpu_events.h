// OnCpuEvents: the perf events behind on-CPU samples.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "daemon/base/heartbeat.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/session/session_control.h"
#include "daemon/source/perf/period_jitter.h"

namespace profd::source {

// One event per online CPU with the BPF program attached; exists only while a session wants on-CPU
// samples. A thread of its own redraws every CPU's period (PeriodJitter) and, once a second, opens
// events for CPUs that came online: an event whose CPU went away is dead even when the CPU is back.
// Each sample carries the period it was taken with. All methods may be called from any thread.
class OnCpuEvents {
 public:
  // `program_fd` is the perf_event program; it must outlive this.
  explicit OnCpuEvents(int program_fd, std::string sys_root = "/sys");

  // Opens the events, or, when they are open, only changes their period. kUnsupported: the machine
  // has no such counter. kUnavailable: another clock is in use.
  [[nodiscard]] Result<void> Run(session::OnCpuClock clock, std::uint64_t period_ns);
  void Stop();
  // As many as the events count in so long, while they run.
  [[nodiscard]] std::uint64_t UnitsOf(std::uint64_t ns) const;
  [[nodiscard]] const Heartbeat& heartbeat() const { return beat_; }
  // The clock in use, or used last.
  [[nodiscard]] session::OnCpuClock clock() const;

 private:
  struct Cpu {
    std::uint32_t number = 0;
    UniqueFd event;
    std::uint64_t enabled_ns = 0;  // at the last Refresh
  };
  void Redraw(const std::stop_token& stop);
  [[nodiscard]] Result<Cpu> OpenCpu(std::uint32_t number);  // with mutex_ held, as all below
  [[nodiscard]] Result<void> OpenAll();
  void SetPeriods();
  void Refresh();
  [[nodiscard]] std::uint64_t DrawPeriod();

  const int program_fd_;
  const std::string sys_root_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  PeriodJitter jitter_;
  session::OnCpuClock clock_ = session::OnCpuClock::kCpuClock;
  double units_per_ns_ = 1.0;    // of the event's period: ns, or cycles
  std::uint64_t period_ns_ = 0;  // 0: stopped
  std::vector<Cpu> cpus_;
  Heartbeat beat_{"sampling periods"};
  std::jthread redraw_;  // last: ends before what it uses
};

// Whether the kernel has a driver for the counters of the CPUs: "cpu", or "cpu_core" where there
// are cores of two kinds.
[[nodiscard]] bool HasHardwareCounters(const std::string& sys_root = "/sys");

// Cycles per ns by the highest frequency the kernel knows; a virtual machine often knows but the
// present one, of /proc/cpuinfo. 1 where there is none. Only how often samples are taken hangs on
// it, and raw weights: shares are scaled to the exact clock in any case.
[[nodiscard]] double NominalCyclesPerNs(const std::string& sys_root,
                                        const std::string& proc_root = "/proc");

}  // namespace profd::source
