#include "daemon/aggregate/switches/switch_log.h"

#include <algorithm>
#include <numeric>

#include "bpf/shared/clock.h"

namespace profd::aggregate {
namespace {

LeaveReason ReasonOf(const wire::SwitchEvent& event) {
  if (event.state == PROFD_STATE_RUNNABLE)
    return event.kind == PROFD_AFTER_YIELD ? LeaveReason::kYielded : LeaveReason::kPreempted;
  if (event.kind == PROFD_IOWAIT) return LeaveReason::kIo;
  return event.kind == PROFD_UNINTERRUPTIBLE ? LeaveReason::kUninterruptible : LeaveReason::kSlept;
}

template <std::size_t N>
std::uint64_t Sum(const __u64 (&values)[N]) {
  return std::accumulate(std::begin(values), std::end(values), std::uint64_t{0});
}

std::uint64_t Less(std::uint64_t a, std::uint64_t b) { return a - std::min(a, b); }

// Clips one to the life of its thread. False: it lies outside.
bool Clip(const Window& window, ThreadSwitch& one) {
  if (one.in_ns <= window.begin_ns || one.out_ns >= window.end_ns) return false;
  one.out_ns = std::max(one.out_ns, window.begin_ns);
  one.ready_ns = std::clamp(one.ready_ns, one.out_ns, window.end_ns);
  if (one.in_ns > window.end_ns) one.in_ns = 0;
  return true;
}

// How long threads were off the CPU in some switches.
struct OffCpu {
  std::uint64_t blocked_ns = 0;
  std::uint64_t runnable_ns = 0;

  void Add(const ThreadSwitch& one, std::uint64_t end_ns) {
    blocked_ns += one.ready_ns - one.out_ns;
    runnable_ns += (one.in_ns == 0 ? end_ns : one.in_ns) - one.ready_ns;
  }
};

// What of the clock of a new thread `switches` do not cover: it came for the first time then. Of
// these, `back` have ended.
ThreadSwitch Began(const std::vector<ThreadSwitch>& switches, std::uint32_t thread,
                   const Window& window, OffCpu rest, std::size_t back) {
  const std::uint64_t open_ns =
      switches.size() > back ? switches.back().ready_ns - switches.back().out_ns : 0;
  const std::uint64_t until_ns = switches.empty() ? window.end_ns : switches.front().out_ns;
  ThreadSwitch first{.out_ns = window.begin_ns, .thread = thread, .reason = LeaveReason::kBegan};
  first.ready_ns = std::min(window.begin_ns + Less(rest.blocked_ns, open_ns), until_ns);
  first.in_ns = std::min(first.ready_ns + rest.runnable_ns, until_ns);
  return first;
}

}  // namespace

void SwitchLog::Add(const wire::WakeEvent& event) {
  if (wakes_.size() >= kMaxWakes && !wakes_.contains(event.wakee)) {
    ++dropped_;
    return;
  }
  // Of several wake-ups of one wait the first one ends it.
  if (const auto known = wakes_.find(event.wakee);
      known != wakes_.end() && event.begin_ns != 0 && known->second.begin_ns == event.begin_ns)
    return;
  const bool hidden = event.interrupt || event.hidden;
  wakes_[event.wakee] = {event.header.time_ns, event.begin_ns,
                         hidden ? 0 : event.header.process.pid,
                         hidden ? 0 : event.header.thread.tid, event.interrupt};
}

void SwitchLog::Add(const wire::SwitchEvent& event, std::uint32_t thread) {
  const auto wake = wakes_.extract(event.header.thread);
  if (count_ >= kMaxSwitches) {
    ++dropped_;
    return;
  }
  ++count_;
  const std::uint64_t in_ns = event.header.time_ns;
  ThreadSwitch one{.out_ns = std::min(event.begin_ns, in_ns),
                   .ready_ns = in_ns - std::min(event.runnable_ns, in_ns),
                   .in_ns = in_ns,
                   .thread = thread,
                   .cpu = static_cast<std::uint16_t>(event.header.cpu),
                   .reason = ReasonOf(event)};
  one.ready_ns = std::max(one.ready_ns, one.out_ns);
  // One of an earlier wait is of a switch that was lost.
  if (!wake.empty() && event.state == PROFD_STATE_BLOCKED &&
      (wake.mapped().begin_ns == 0 || wake.mapped().begin_ns == event.begin_ns)) {
    one.woken_ns = wake.mapped().time_ns;
    one.waker_pid = wake.mapped().pid;
    one.waker_tid = wake.mapped().tid;
    one.by_interrupt = wake.mapped().interrupt;
  }
  switches_[thread].push_back(one);
}

SwitchLog::OfThread SwitchLog::Of(std::uint32_t thread, const Lifetime& life) const {
  OfThread of;
  const Window& window = life.window;
  OffCpu covered;
  if (const auto found = switches_.find(thread); found != switches_.end()) {
    for (ThreadSwitch one : found->second) {
      if (!Clip(window, one)) continue;
      covered.Add(one, window.end_ns);
      of.switches.push_back(one);
    }
  }
  const std::uint64_t blocked_ns = Less(Sum(life.clock.blocked_ns), covered.blocked_ns);
  std::uint64_t runnable_ns = Less(Sum(life.clock.runnable_ns), covered.runnable_ns);
  const std::size_t back = of.switches.size();
  const auto since_ns = life.blocked_since_ns ? life.blocked_since_ns : life.runnable_since_ns;
  if (since_ns && (of.switches.empty() || of.switches.back().in_ns != 0)) {
    ThreadSwitch last{
        .out_ns = std::clamp(*since_ns, window.begin_ns, window.end_ns),
        .thread = thread,
        .reason = life.blocked_since_ns ? LeaveReason::kSlept : LeaveReason::kPreempted};
    const std::uint64_t length_ns = window.end_ns - last.out_ns;
    const std::uint64_t waited_ns = life.blocked_since_ns ? 0 : std::min(length_ns, runnable_ns);
    last.ready_ns = window.end_ns - waited_ns;
    runnable_ns -= waited_ns;
    of.switches.push_back(last);
  }
  std::size_t came = back;
  if (life.began) {
    // At some levels no hook runs where a new thread comes for the first time.
    if (!of.switches.empty() && of.switches.front().out_ns == window.begin_ns) {
      of.switches.front().reason = LeaveReason::kBegan;
    } else {
      of.switches.insert(of.switches.begin(),
                         Began(of.switches, thread, window, {blocked_ns, runnable_ns}, back));
      ++came;
    }
  }
  const std::size_t expected = life.clock.on_cpu_count;
  of.complete = !life.clock_missing && came >= expected;
  return of;
}

std::size_t SwitchLog::bytes() const {
  constexpr std::size_t kEntryBytes = 64;
  return count_ * sizeof(ThreadSwitch) + (wakes_.size() + switches_.size()) * kEntryBytes;
}

}  // namespace profd::aggregate
