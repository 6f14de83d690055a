// KernelModel: one thread, kernel accounting about it, and the truth to hold the clock against.
//
// Times given are those at which the switch hooks run. The kernel dates a switch by `lag` earlier,
// as it does when a wake-up takes the CPU.
#pragma once

#include <cstdint>

#include "tests/bpf_user/bpf_as_user.h"

namespace profd {

[[nodiscard]] std::uint64_t Sum(const profd_clock& clock);  // of all ns
[[nodiscard]] std::uint64_t Runnable(const profd_clock& clock);
[[nodiscard]] std::uint64_t Blocked(const profd_clock& clock);
[[nodiscard]] std::uint64_t Stolen(const profd_clock& clock);
// Every ns of `later` is at least that of `earlier`; of run and stolen time the sum.
[[nodiscard]] bool NeverLess(const profd_clock& earlier, const profd_clock& later);

class KernelModel {
 public:
  // A thread that runs from `now` on.
  explicit KernelModel(std::uint64_t now);
  ~KernelModel();
  KernelModel(const KernelModel&) = delete;
  KernelModel& operator=(const KernelModel&) = delete;

  void Block(std::uint64_t now, profd_blocked kind = PROFD_INTERRUPTIBLE);
  void Preempt(std::uint64_t now, profd_runnable kind = PROFD_AFTER_PREEMPTION,
               std::uint64_t lag = 0);
  void End(std::uint64_t now);
  void Wake(std::uint64_t now);
  user_interval Come(std::uint64_t now, std::uint64_t lag = 0);

  // What the hooks would have done is left out; kernel accounting continues.
  void BlockUnseen(std::uint64_t now);
  void ComeUnseen(std::uint64_t now);
  // The switch-in is only noted, as that of a new thread is.
  void ComeNoted(std::uint64_t now);

  // Takes the CPU away from the thread, which runs, for `ns` before the next call.
  void Steal(std::uint64_t ns);

  // The next one; what was stolen from each has nothing to do with the others.
  void OnCpu(std::uint32_t cpu);
  [[nodiscard]] user_reading Read(std::uint64_t now) const;

  [[nodiscard]] const profd_clock& clock() const { return *user_clock(thread_); }
  [[nodiscard]] std::uint64_t since() const { return user_since(thread_); }
  [[nodiscard]] std::uint64_t sequence() const { return user_sequence(thread_); }
  [[nodiscard]] user_thread* thread() const { return thread_; }
  // The kernel's own numbers since the beginning.
  [[nodiscard]] std::uint64_t run_time() const { return accounting_.sum_exec; }
  [[nodiscard]] std::uint64_t run_delay() const { return accounting_.run_delay; }
  [[nodiscard]] std::uint64_t stolen() const { return stolen_ns_; }

 private:
  void Depart(std::uint64_t now);
  void Queue(std::uint64_t now);
  void Arrive(std::uint64_t now);

  user_accounting accounting_{};
  user_thread* thread_;
  std::uint64_t arrived_ns_;  // as the kernel dates it
  std::uint64_t stolen_ns_ = 0;
  std::uint64_t stolen_now_ns_ = 0;  // since it arrived
  std::uint64_t queued_ns_ = 0;      // 0: does not wait for a CPU
  bool running_ = true;
  std::uint32_t cpu_ = 0;
};

}  // namespace profd
