// ThreadUse: what threads did with their time, and what CPUs their process may use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/profile/report/report_time.h"
#include "client/profile/threads/placement.h"
#include "client/profile/threads/spin_cause.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// Blocked time of one reason.
struct BlockedTime {
  v1::WaitReason reason = v1::WAIT_NONE;
  SampledTime time;
};

// A thread, a group of short-lived ones, or a sum of these. The parts of `time` add up to its
// clock.
struct ThreadUse {
  std::size_t threads = 0;
  std::uint64_t elapsed_ns = 0;
  ReportTime time;
  // The two kinds of runnable time, by the clock.
  std::uint64_t woken_ns = 0;
  std::uint64_t preempted_ns = 0;   // or it has yielded
  SpinCause spin;                   // inferred parts of spinning
  std::vector<BlockedTime> waits;   // most first
  std::uint64_t voluntary = 0;      // switches: it went to sleep
  std::uint64_t involuntary = 0;    // it was preempted, or has yielded
  std::uint64_t migrations = 0;     // to another CPU
  std::vector<std::uint32_t> cpus;  // on which samples saw it, ascending
  Placement placement;
  Counts counts;  // of hardware counters, exact

  [[nodiscard]] std::uint64_t running_ns() const;  // working and spinning
  [[nodiscard]] std::uint64_t wanted_ns() const;   // running, or waiting for a CPU
  void operator+=(const ThreadUse& other);

 private:
  void AddPlacement(const ThreadUse& other);
};

// By thread of the profile, which has passed CheckProfile.
[[nodiscard]] std::vector<ThreadUse> UseOfThreads(const v1::Profile& profile);
// Sums of these, by process of the profile.
[[nodiscard]] std::vector<ThreadUse> UseOfProcesses(const v1::Profile& profile,
                                                    const std::vector<ThreadUse>& threads);

// How many CPUs a process may use, and what sets that limit.
struct UsableCpus {
  enum class By { kUnknown, kHost, kAffinity, kQuota };
  double cpus = 0;
  By by = By::kUnknown;
};
[[nodiscard]] UsableCpus UsableBy(const v1::Profile& profile, const v1::Process& process);

// The part of the usable CPUs that did work in `length_ns`; 0 where they are not known.
[[nodiscard]] double EffectiveUse(const ThreadUse& process, const UsableCpus& usable,
                                  std::uint64_t length_ns);

}  // namespace profd::client
