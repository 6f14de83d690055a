#include "daemon/aggregate/waits/wait_log.h"

#include <algorithm>

#include "bpf/shared/limits.h"
#include "bpf/shared/points.h"
#include "daemon/aggregate/waits/lock_owner.h"

namespace profd::aggregate {
namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};

// A thread that is woken on its way to sleep leaves the CPU no later than this, as a rule.
constexpr std::uint64_t kOnItsWayNs = 100'000;

bool Covers(std::span<const WaitLog::Range> ranges, std::uint64_t time_ns) {
  return std::ranges::any_of(ranges, [time_ns](const WaitLog::Range& range) {
    return time_ns >= range.begin_ns && time_ns < range.end_ns;
  });
}

}  // namespace

std::uint32_t WaitLog::IndexOf(const ThreadKey& thread, const ProcessKey& process) {
  const auto [found, added] =
      index_.try_emplace(thread, static_cast<std::uint32_t>(threads_.size()));
  if (added) {
    Thread& added_thread = threads_.emplace_back();
    added_thread.key = thread;
    added_thread.process = process;
    pending_.emplace_back();
  }
  Thread& known = threads_[found->second];
  if (known.process.pid == 0) known.process = process;
  return found->second;
}

std::optional<std::uint32_t> WaitLog::Find(const ThreadKey& thread) const {
  const auto found = index_.find(thread);
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

void WaitLog::OnClock(const ThreadKey& thread, const ProcessKey& process, const Reading& reading) {
  Thread& known = threads_[IndexOf(thread, process)];
  if (reading.own_tid != 0) known.own_tid = reading.own_tid;
  // The thread does not wait any more, and no sample came: the wait had no sampling point here.
  if (!known.waits.empty() && known.waits.back().is_open() &&
      known.waits.back().begin_ns != reading.blocked_since_ns)
    known.waits.pop_back();
  const bool member = !known.watched.empty() && known.watched.back().end_ns == kNever;
  if (!member && !reading.end) {
    known.watched.push_back({reading.time_ns, kNever});
    // Samples from before are of no interest.
    if (known.number < reading.number) {
      known.number = reading.number;
      known.number_ns = reading.time_ns;
    }
  }
  known.clock_number = std::max(known.clock_number, reading.number);
  if (member && reading.end) known.watched.back().end_ns = reading.time_ns;
}

void WaitLog::SetLevel(std::uint64_t time_ns, std::uint64_t point_seed, std::uint32_t level) {
  point_seed_ = point_seed;
  if (!levels_.empty() && levels_.back().level == level) return;
  levels_.push_back({time_ns, level});
}

bool WaitLog::MakeRoom(Thread& thread, std::uint64_t time_ns) {
  if (entries_ < max_entries_) {
    ++entries_;
    return true;
  }
  if (thread.lost.empty() || thread.lost.back().end_ns != kNever)
    thread.lost.push_back({time_ns, kNever});
  return false;
}

void WaitLog::Follow(Thread& thread, std::uint32_t number, std::uint64_t begin_ns,
                     std::uint64_t end_ns) {
  if (number == 0) return;
  if (thread.number != 0 && number > thread.number + 1)
    thread.lost.push_back({thread.number_ns, begin_ns});
  if (number < thread.number) return;
  thread.number = number;
  thread.number_ns = end_ns;
}

std::uint32_t WaitLog::TakeWaker(std::uint32_t thread, std::uint64_t begin_ns) {
  std::vector<Pending>& pending = pending_[thread];
  std::uint32_t waker = kNoWaker;
  for (const Pending& one : pending) {
    if (one.begin_ns == begin_ns) {
      waker = one.waker;
      break;
    }
    const bool just_before =
        one.time_ns <= begin_ns + kOnItsWayNs && begin_ns <= one.time_ns + kOnItsWayNs;
    if (one.begin_ns == 0 && just_before) waker = one.waker;
  }
  pending.clear();
  return waker;
}

void WaitLog::AddWait(const process::Sample& sample, StackId node) {
  const std::uint32_t index = IndexOf(sample.thread, sample.process);
  Thread& thread = threads_[index];
  if (sample.gil != process::Gil::kNone) thread.python = true;
  const std::uint64_t end_ns = sample.snapshot ? kNever : sample.time_ns;
  Follow(thread, sample.number, sample.begin_ns, sample.time_ns);
  const std::uint32_t waker = sample.snapshot ? kNoWaker : TakeWaker(index, sample.begin_ns);
  if (!MakeRoom(thread, sample.begin_ns)) return;
  const bool blocks = sample.state == process::State::kBlocked;
  const std::uint64_t woken_ns =
      sample.snapshot ? kNever
      : blocks        ? end_ns - std::min(sample.runnable_ns, end_ns - sample.begin_ns)
                      : sample.begin_ns;
  // One that was taken over is this one, or is over and had no sampling point here.
  if (!thread.waits.empty() && thread.waits.back().is_open()) thread.waits.pop_back();
  thread.waits.push_back({.begin_ns = sample.begin_ns,
                          .woken_ns = woken_ns,
                          .end_ns = end_ns,
                          .waker = waker,
                          .owner_word = OwnerWord(sample),
                          .node = node,
                          .reason = sample.wait,
                          .gil = sample.gil});
}

void WaitLog::TakeOpen(const WaitLog& before, const ThreadKey& thread, std::uint64_t begin_ns,
                       StackId node) {
  const auto known = before.Find(thread);
  const LoggedWait* wait = known ? before.FindWait(*known, begin_ns) : nullptr;
  if (wait == nullptr || !wait->is_open()) return;
  Thread& taker = threads_[IndexOf(thread, before.threads_[*known].process)];
  // Events of this session can have come before the end of the one before: then the wait is over.
  if (!taker.waits.empty() || !MakeRoom(taker, begin_ns)) return;
  if (wait->gil != process::Gil::kNone) taker.python = true;
  LoggedWait taken = *wait;
  taken.waker = kNoWaker;
  taken.owner_word = 0;
  taken.node = node;
  taker.waits.push_back(taken);
}

void WaitLog::AddRun(const process::Sample& sample, StackId node) {
  Thread& thread = threads_[IndexOf(sample.thread, sample.process)];
  if (sample.gil != process::Gil::kNone) thread.python = true;
  if (!MakeRoom(thread, kNever)) return;
  thread.runs.push_back({sample.time_ns, node, sample.gil == process::Gil::kHeld});
}

void WaitLog::AddWaker(const process::Sample& sample, StackId node, std::uint64_t session) {
  const wire::WakeUp& wake_up = *sample.wake_up;
  const std::uint32_t wakee = IndexOf(wake_up.wakee, {});
  Waker waker{.node = node};
  if (wake_up.interrupt) {
    waker.kind = Waker::Kind::kInterrupt;
  } else if ((wake_up.foreign_sessions & session) != 0) {
    waker.kind = Waker::Kind::kForeign;
    waker.node = 0;
  } else {
    waker.thread = IndexOf(sample.thread, sample.process);
    Thread& thread = threads_[waker.thread];
    thread.comm = wake_up.comm;
    // It is sampled from here on, if it was not before. As the programs do it.
    const std::uint64_t until_ns = sample.time_ns + PROFD_FOLLOWED_NS;
    if (thread.watched.empty() || thread.watched.back().end_ns < sample.time_ns)
      thread.watched.push_back({sample.time_ns, until_ns});
    else
      thread.watched.back().end_ns = std::max(thread.watched.back().end_ns, until_ns);
  }
  if (!MakeRoom(threads_[wakee], sample.time_ns)) return;
  wakers_.push_back(waker);
  // Wake-ups without a wait are few: those of a thread on its way to sleep that did not sleep.
  constexpr std::size_t kMaxPending = 16;
  std::vector<Pending>& pending = pending_[wakee];
  if (pending.size() >= kMaxPending) pending.erase(pending.begin());
  pending.push_back(
      {wake_up.begin_ns, sample.time_ns, static_cast<std::uint32_t>(wakers_.size() - 1)});
}

const LoggedWait* WaitLog::FindWait(std::uint32_t thread, std::uint64_t begin_ns) const {
  const std::vector<LoggedWait>& waits = threads_[thread].waits;
  const auto found = std::ranges::lower_bound(waits, begin_ns, {}, &LoggedWait::begin_ns);
  return found != waits.end() && found->begin_ns == begin_ns ? &*found : nullptr;
}

WaitLog::At WaitLog::StateOf(std::uint32_t thread, std::uint64_t time_ns,
                             std::uint64_t until_ns) const {
  const Thread& of = threads_[thread];
  const auto after = std::ranges::upper_bound(of.waits, time_ns, {}, &LoggedWait::begin_ns);
  if (after != of.waits.begin()) {
    const LoggedWait& wait = *std::prev(after);
    if (time_ns < wait.woken_ns) return {StateAt::kBlocked, &wait};
    if (time_ns < wait.end_ns) return {StateAt::kRunnable, &wait};
  }
  if (!Covers(of.watched, time_ns)) return {StateAt::kNotFollowed, nullptr};
  const bool last_lost = of.clock_number > of.number && time_ns >= of.number_ns;
  const std::uint32_t level = CoarsestLevel(time_ns, until_ns);
  const bool sampled = level == 0 || profd_point(point_seed_, level, time_ns >> level) == time_ns;
  const bool lost = last_lost || !sampled || Covers(of.lost, time_ns);
  return {lost ? StateAt::kLost : StateAt::kRuns, nullptr};
}

std::uint32_t WaitLog::CoarsestLevel(std::uint64_t begin_ns, std::uint64_t end_ns) const {
  const auto after = std::ranges::upper_bound(levels_, begin_ns, {}, &Level::since_ns);
  std::uint32_t coarsest = after == levels_.begin() ? 0 : std::prev(after)->level;
  for (auto at = after; at != levels_.end() && at->since_ns < end_ns; ++at)
    coarsest = std::max(coarsest, at->level);
  return coarsest;
}

std::vector<std::uint32_t> WaitLog::PythonThreads(const ProcessKey& process) const {
  std::vector<std::uint32_t> threads;
  for (std::uint32_t i = 0; i < threads_.size(); ++i)
    if (threads_[i].python && threads_[i].process == process) threads.push_back(i);
  return threads;
}

}  // namespace profd::aggregate
