// StolenTime: time on a CPU that is in no thread's run time, as the kernel leaves it out:
// interrupts and the hypervisor.
#pragma once

#include <cstdint>
#include <string>

#include "profd/v1/profile.pb.h"

namespace profd::client {

struct StolenTime {
  std::uint64_t ns = 0;
  std::uint64_t spread_ns = 0;  // of it, an estimate (snapshot mode, threads that sleep)

  void operator+=(const StolenTime& other);
};

[[nodiscard]] StolenTime StolenOf(const v1::ThreadClock& clock);
// Whether screens show it: where it is more than 0.5 % of `whole_ns`. Else it is shown as part of
// what has run, so that the parts add up either way.
[[nodiscard]] bool IsShown(const StolenTime& stolen, std::uint64_t whole_ns);
// What is shown as running.
[[nodiscard]] std::uint64_t RunningNs(std::uint64_t on_cpu_ns, const StolenTime& stolen,
                                      std::uint64_t whole_ns);
// "1.2 %", "~1.2 %" of an estimate; "" where it is not shown.
[[nodiscard]] std::string FormatStolen(const StolenTime& stolen, std::uint64_t whole_ns);

}  // namespace profd::client
