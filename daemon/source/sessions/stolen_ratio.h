// StolenRatio: how much of their run time all CPUs lose to interrupts and the hypervisor.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace profd::source {

// How long the CPUs of the host have not been idle, by the first line of /proc/stat; nothing if
// that is damaged. What runs, what interrupts it and what the hypervisor takes all count.
[[nodiscard]] std::optional<std::uint64_t> BusyNs(std::string_view stat);

// Of threads that sleep, nothing distinguishes stolen from blocked time in snapshot mode, so the
// BPF side spreads it by this ratio. Stolen is what the kernel itself leaves out of run time, by
// the BPF side's count: what is left out depends on how the kernel was built. Not thread-safe: the
// mutex of Sessions covers it.
class StolenRatio {
 public:
  // A shorter time is joined to the next one: /proc/stat counts in steps of 10 ms a CPU.
  static constexpr std::uint64_t kLeastBusyNs = 1'000'000'000;
  // Four ns for each ns of run time. More would be an error: nothing gets less than a fifth.
  static constexpr std::uint64_t kMost = std::uint64_t{4} << 20;

  // Both since any fixed time. Returns the ratio, in 2^-PROFD_STOLEN_SHIFT; 0 until it is known.
  std::uint64_t Update(std::uint64_t stolen_ns, std::uint64_t busy_ns);

 private:
  struct Totals {
    std::uint64_t stolen_ns = 0;
    std::uint64_t busy_ns = 0;
  };

  std::optional<Totals> begin_;
  std::uint64_t ratio_ = 0;
};

}  // namespace profd::source
