#include "tests/bpf_user/kernel_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace profd {
namespace {

std::uint64_t SumOf(const __u64 (&values)[3]) {
  return std::accumulate(std::begin(values), std::end(values), std::uint64_t{0});
}

}  // namespace

std::uint64_t Runnable(const profd_clock& clock) { return SumOf(clock.runnable_ns); }
std::uint64_t Blocked(const profd_clock& clock) { return SumOf(clock.blocked_ns); }
std::uint64_t Stolen(const profd_clock& clock) {
  return clock.stolen_ns[PROFD_STOLEN_EXACT] + clock.stolen_ns[PROFD_STOLEN_SPREAD];
}
std::uint64_t Sum(const profd_clock& clock) {
  return clock.on_cpu_ns + Runnable(clock) + Blocked(clock) + Stolen(clock);
}

bool NeverLess(const profd_clock& earlier, const profd_clock& later) {
  using Fields = std::array<std::uint64_t, sizeof(profd_clock) / sizeof(std::uint64_t)>;
  const auto fields = [](profd_clock clock) {
    clock.on_cpu_ns += Stolen(clock);
    std::ranges::fill(clock.stolen_ns, 0);
    return std::bit_cast<Fields>(clock);
  };
  const auto a = fields(earlier);
  const auto b = fields(later);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (b[i] < a[i]) return false;
  return true;
}

KernelModel::KernelModel(std::uint64_t now) : arrived_ns_(now) {
  thread_ = user_thread_begin(now, PROFD_STATE_ON_CPU, 0, &accounting_);
}

KernelModel::~KernelModel() { user_thread_free(thread_); }

void KernelModel::Steal(std::uint64_t ns) {
  accounting_.stolen += ns;
  stolen_ns_ += ns;
  stolen_now_ns_ += ns;
}

void KernelModel::OnCpu(std::uint32_t cpu) {
  cpu_ = cpu;
  accounting_.stolen = std::uint64_t{5'000'000'000} / (cpu + 1) + stolen_ns_ / 2;
}

void KernelModel::Depart(std::uint64_t now) {
  accounting_.sum_exec += now - arrived_ns_ - stolen_now_ns_;
  stolen_now_ns_ = 0;
  running_ = false;
}

void KernelModel::Queue(std::uint64_t now) { queued_ns_ = now; }

void KernelModel::Arrive(std::uint64_t now) {
  accounting_.run_delay += now - queued_ns_;
  queued_ns_ = 0;
  arrived_ns_ = now;
  running_ = true;
}

void KernelModel::Block(std::uint64_t now, profd_blocked kind) {
  Depart(now);
  user_switch_out(thread_, now, PROFD_STATE_BLOCKED, kind, cpu_, &accounting_);
}

void KernelModel::Preempt(std::uint64_t now, profd_runnable kind, std::uint64_t lag) {
  Depart(now - lag);
  user_switch_out(thread_, now, PROFD_STATE_RUNNABLE, kind, cpu_, &accounting_);
  Queue(now - lag);
}

void KernelModel::End(std::uint64_t now) {
  Depart(now);
  user_switch_out(thread_, now, PROFD_STATE_DEAD, 0, cpu_, &accounting_);
}

void KernelModel::Wake(std::uint64_t now) {
  Queue(now);
  user_wake(thread_, now);
}

user_interval KernelModel::Come(std::uint64_t now, std::uint64_t lag) {
  Arrive(now - lag);
  return user_switch_in(thread_, now, cpu_, &accounting_);
}

void KernelModel::BlockUnseen(std::uint64_t now) { Depart(now); }
void KernelModel::ComeUnseen(std::uint64_t now) { Arrive(now); }

void KernelModel::ComeNoted(std::uint64_t now) {
  user_note_switch_in(thread_, now, accounting_.stolen);
  Arrive(now);
}

user_reading KernelModel::Read(std::uint64_t now) const {
  const user_present_state present{queued_ns_, running_ ? 1 : 0};
  user_accounting accounting = accounting_;
  if (running_) accounting.sum_exec += now - arrived_ns_ - stolen_now_ns_;
  return user_read(thread_, now, &accounting, &present);
}

}  // namespace profd
