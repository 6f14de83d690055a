#include "daemon/aggregate/waits/path_finder.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "daemon/aggregate/waits/lock_owner.h"

namespace profd::aggregate {
namespace {

using process::Gil;
using process::WaitReason;

std::uint64_t Apart(std::uint64_t a, std::uint64_t b) { return a < b ? b - a : a - b; }

// Of samples in order of time, the nearest one to `time_ns` within [begin, end].
const LoggedRun* Nearest(const std::vector<LoggedRun>& runs, std::uint64_t time_ns,
                         std::uint64_t begin_ns, std::uint64_t end_ns) {
  const auto after = std::ranges::lower_bound(runs, time_ns, {}, &LoggedRun::time_ns);
  const LoggedRun* nearest = nullptr;
  const auto consider = [&](const LoggedRun& run) {
    if (run.time_ns < begin_ns || run.time_ns > end_ns) return;
    if (nearest == nullptr || Apart(run.time_ns, time_ns) < Apart(nearest->time_ns, time_ns))
      nearest = &run;
  };
  if (after != runs.end()) consider(*after);
  if (after != runs.begin()) consider(*std::prev(after));
  return nearest;
}

bool IsForGil(const LoggedWait& wait) { return wait.reason == WaitReason::kGil; }

PathKind EndOf(WakeUpKind kind) {
  switch (kind) {
    case WakeUpKind::kTimer:
      return PathKind::kTimer;
    case WakeUpKind::kDisk:
      return PathKind::kDisk;
    case WakeUpKind::kNet:
      return PathKind::kNet;
    default:
      return PathKind::kInterrupt;
  }
}

PathHow HowOf(WakeUpKind kind) {
  if (kind == WakeUpKind::kExit) return PathHow::kExit;
  return kind == WakeUpKind::kSignal ? PathHow::kSignal : PathHow::kWoke;
}

bool IsOfThread(WakeUpKind kind) {
  return kind == WakeUpKind::kThread || kind == WakeUpKind::kExit || kind == WakeUpKind::kSignal ||
         kind == WakeUpKind::kSpurious;
}

}  // namespace

const LoggedWait* PathFinder::Next(std::uint32_t thread, const LoggedWait& wait) const {
  const std::vector<LoggedWait>& waits = log_.threads()[thread].waits;
  const auto index = static_cast<std::size_t>(&wait - waits.data()) + 1;
  return index < waits.size() ? &waits[index] : nullptr;
}

const LoggedWait* PathFinder::Continuation(std::uint32_t thread, const LoggedWait& wait) const {
  const LoggedWait* next = Next(thread, wait);
  if (next == nullptr || next->node != wait.node || next->reason != wait.reason) return nullptr;
  const bool at_once =
      next->begin_ns >= wait.end_ns && next->begin_ns - wait.end_ns < kAgainAtOnceNs;
  return at_once && next->woken_ns > next->begin_ns ? next : nullptr;
}

bool PathFinder::IsSpurious(std::uint32_t thread, const LoggedWait& wait) {
  if (IsForGil(wait) || wait.waker == kNoWaker) return false;
  const Waker& waker = log_.WakerAt(wait.waker);
  // A time-out that waits once more is a wait for the time. A wake-up that is known to give nothing
  // ends a wait, too, if the thread then goes on: while it was woken, it got what it waited for.
  return IsOfThread(KindOf(waker)) && Continuation(thread, wait) != nullptr;
}

const Waker* PathFinder::Settled(std::uint32_t thread, const LoggedWait& wait) {
  // One that does so all the time works in small pieces.
  constexpr int kMaxContinuations = 16;
  const LoggedWait* last = &wait;
  for (int i = 0; i < kMaxContinuations; ++i) {
    if (!IsSpurious(thread, *last))
      return last->waker == kNoWaker ? nullptr : &log_.WakerAt(last->waker);
    last = Continuation(thread, *last);
    if (last == nullptr) return nullptr;
  }
  return &log_.WakerAt(wait.waker);
}

bool PathFinder::IsByThread(const Waker& waker) {
  return waker.kind == Waker::Kind::kThread && IsOfThread(KindOf(waker));
}

std::uint32_t PathFinder::EndedBy(std::uint32_t thread, const LoggedWait& wait) {
  const Waker* waker = Settled(thread, wait);
  return waker != nullptr && IsByThread(*waker) ? waker->thread : kNoWaker;
}

WakeUpKind PathFinder::KindOf(const Waker& waker) {
  const bool interrupt = waker.kind == Waker::Kind::kInterrupt;
  const auto [found, added] =
      kinds_.try_emplace(std::uint64_t{waker.node} << 1 | (interrupt ? 1 : 0));
  if (!added) return found->second;
  std::vector<std::string_view> kernel;
  frames_(waker.node, [&kernel](const symbolize::Frame& frame) {
    if (frame.kind != symbolize::FrameKind::kKernel) return false;
    kernel.push_back(frame.name);
    return true;
  });
  found->second = WakeUpKindOf(kernel, interrupt);
  return found->second;
}

const std::vector<std::uint32_t>& PathFinder::PythonThreads(const ProcessKey& process) {
  const auto [found, added] = python_.try_emplace(process);
  if (added) found->second = log_.PythonThreads(process);
  return found->second;
}

// A thread that is off the CPU with the GIL in hand is the holder for sure. Else the holder runs;
// of several that run, the one whose nearest sample has the GIL.
std::uint32_t PathFinder::HolderOf(std::uint32_t waiter, const LoggedWait& wait,
                                   std::uint64_t time_ns) {
  std::uint32_t holder = kNoWaker;
  std::uint64_t nearest_ns = 0;
  bool holds = false;
  for (const std::uint32_t thread : PythonThreads(log_.threads()[waiter].process)) {
    if (thread == waiter) continue;
    const WaitLog::At at = log_.StateOf(thread, time_ns, wait.woken_ns);
    if (at.wait != nullptr && at.wait->gil == Gil::kHeld) return thread;
    if (at.state != StateAt::kRuns) continue;
    const LoggedRun* run = Nearest(log_.threads()[thread].runs, time_ns, 0, ~std::uint64_t{0});
    const bool run_holds = run != nullptr && run->holds_gil;
    const std::uint64_t apart = run == nullptr ? ~std::uint64_t{0} : Apart(run->time_ns, time_ns);
    const bool better =
        holder == kNoWaker || (run_holds && !holds) || (run_holds == holds && apart < nearest_ns);
    if (!better) continue;
    holder = thread;
    nearest_ns = apart;
    holds = run_holds;
  }
  return holder;
}

std::uint32_t PathFinder::OwnerOf(std::uint32_t waiter, const LoggedWait& wait) {
  if (wait.owner_word == 0) return kNoWaker;
  bool in_mutex = false;
  frames_(wait.node, [&in_mutex](const symbolize::Frame& frame) {
    in_mutex = IsMutexFunction(frame.name);
    return !in_mutex;
  });
  if (!in_mutex) return kNoWaker;
  if (by_tid_.empty())
    for (std::uint32_t i = 0; i < log_.threads().size(); ++i) {
      const WaitLog::Thread& one = log_.threads()[i];
      by_tid_[{one.process, one.own_tid != 0 ? one.own_tid : one.key.tid}] = i;
    }
  const auto owner = by_tid_.find({log_.threads()[waiter].process, wait.owner_word});
  return owner == by_tid_.end() ? kNoWaker : owner->second;
}

const std::vector<LoggedRun>& PathFinder::RunsFor(std::uint32_t waiter, std::uint32_t waker) {
  const auto [found, added] = runs_.try_emplace({waiter, waker});
  if (!added) return found->second;
  const std::vector<LoggedRun>& all = log_.threads()[waker].runs;
  auto next = all.begin();
  for (const LoggedWait& wait : log_.threads()[waiter].waits) {
    if (EndedBy(waiter, wait) != waker) continue;
    while (next != all.end() && next->time_ns < wait.begin_ns) ++next;
    for (; next != all.end() && next->time_ns <= wait.woken_ns; ++next)
      found->second.push_back(*next);
  }
  return found->second;
}

void PathFinder::FindRun(std::uint32_t waiter, const LoggedWait& wait, std::uint64_t time_ns,
                         PathStep& step) {
  const std::vector<LoggedRun>& runs = log_.threads()[step.thread].runs;
  if (const LoggedRun* own = Nearest(runs, time_ns, wait.begin_ns, wait.woken_ns)) {
    step.node = own->node;
    return;
  }
  step.estimated = true;
  const bool holds = step.how == PathHow::kGil || step.how == PathHow::kOwner;
  const auto& others = holds ? runs : RunsFor(waiter, step.thread);
  if (const LoggedRun* other = Nearest(others, time_ns, 0, ~std::uint64_t{0})) {
    step.node = other->node;
  } else if (const Waker* waker = Settled(waiter, wait);
             waker != nullptr && waker->thread == step.thread) {
    step.node = waker->node;
  }
}

const std::vector<PathStep>& PathFinder::Find(std::uint32_t thread, const LoggedWait& wait,
                                              std::uint64_t time_ns) {
  path_.clear();
  std::uint32_t waiter = thread;
  const LoggedWait* now = &wait;
  const auto end = [&](PathStep step) -> const std::vector<PathStep>& {
    path_.push_back(step);
    return path_;
  };
  while (path_.size() < kMaxSteps) {
    PathStep step;
    if (IsForGil(*now)) {
      step.how = PathHow::kGil;
      step.thread = HolderOf(waiter, *now, time_ns);
      if (step.thread == kNoWaker) return end({.kind = PathKind::kNotSeen, .how = PathHow::kGil});
    } else {
      const Waker* waker = Settled(waiter, *now);
      if (waker == nullptr) {
        const bool open = now->is_open();
        step.how = PathHow::kOwner;
        step.thread = open ? OwnerOf(waiter, *now) : kNoWaker;
        if (step.thread == kNoWaker)
          return end({.kind = open ? PathKind::kStillWaits : PathKind::kNotSeen});
      } else {
        if (waker->kind == Waker::Kind::kForeign) return end({.kind = PathKind::kOtherUser});
        const WakeUpKind kind = KindOf(*waker);
        if (!IsOfThread(kind)) return end({.kind = EndOf(kind), .node = waker->node});
        step.how = HowOf(kind);
        step.thread = waker->thread;
      }
    }
    const bool circle = step.thread == thread ||
                        std::ranges::find(path_, step.thread, &PathStep::thread) != path_.end();
    if (circle) break;
    const WaitLog::At at = log_.StateOf(step.thread, time_ns, now->woken_ns);
    switch (at.state) {
      case StateAt::kNotFollowed:
        step.kind = PathKind::kNotFollowed;
        return end(step);
      case StateAt::kLost:
        step.kind = PathKind::kLost;
        return end(step);
      case StateAt::kRunnable:
        step.kind = PathKind::kNoCpu;
        return end(step);
      case StateAt::kRuns:
        step.kind = PathKind::kRuns;
        FindRun(waiter, *now, time_ns, step);
        return end(step);
      case StateAt::kBlocked:
        step.kind = PathKind::kWaits;
        step.wait = at.wait->reason;
        step.node = at.wait->node;
        path_.push_back(step);
        waiter = step.thread;
        now = at.wait;
        break;
    }
  }
  return end({.kind = PathKind::kTooLong});
}

}  // namespace profd::aggregate
