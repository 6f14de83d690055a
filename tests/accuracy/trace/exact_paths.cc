#include "tests/accuracy/trace/exact_paths.h"

#include <algorithm>

namespace profd::accuracy {
namespace {

constexpr int kMaxSteps = 32;  // daemon/aggregate/waits/path_finder.h
constexpr double kRoundingNs = 1'000;

double LengthNs(ExactRange range) { return static_cast<double>(range.end_ns - range.begin_ns); }

ExactRange Common(ExactRange a, ExactRange b) {
  const std::uint64_t begin_ns = std::max(a.begin_ns, b.begin_ns);
  return {begin_ns, std::max(begin_ns, std::min(a.end_ns, b.end_ns))};
}

}  // namespace

ExactPaths::ExactPaths(const std::vector<SwitchEvent>& events) {
  for (const SwitchEvent& event : events) Take(event);
}

void ExactPaths::Take(const SwitchEvent& event) {
  if (event.kind == SwitchEvent::Kind::kSwitch) {
    Leave(event);
    Come(event);
  } else if (event.kind == SwitchEvent::Kind::kWaking) {
    Wake(event);
  } else {
    Changes& changes = threads_[event.other];
    // The end of a wait that Wake has begun to end.
    if (changes.size() >= 2 && changes[changes.size() - 2].state == State::kBlocked &&
        changes[changes.size() - 2].runnable_ns == 0)
      changes[changes.size() - 2].runnable_ns = event.time_ns;
  }
}

void ExactPaths::Leave(const SwitchEvent& event) {
  Changes& changes = threads_[event.tid];
  // It leaves the CPU though nothing has woken it: the wake-up was not seen.
  if (!changes.empty() && changes.back().state == State::kBlocked) {
    changes.back().waker = Waker::kUnseen;
    changes.push_back({.time_ns = event.time_ns, .state = State::kRuns});
  }
  changes.push_back(
      {.time_ns = event.time_ns, .state = event.runnable ? State::kRunnable : State::kBlocked});
}

void ExactPaths::Come(const SwitchEvent& event) {
  Changes& changes = threads_[event.other];
  if (!changes.empty() && changes.back().state == State::kBlocked)
    changes.back().waker = Waker::kUnseen;
  changes.push_back({.time_ns = event.time_ns, .state = State::kRuns});
}

void ExactPaths::Wake(const SwitchEvent& event) {
  Changes& changes = threads_[event.other];
  // A wake-up of a thread that has not left its CPU yet ends nothing.
  if (changes.empty() || changes.back().state != State::kBlocked) return;
  Change& wait = changes.back();
  wait.waker = event.interrupt ? Waker::kInterrupt : Waker::kThread;
  wait.waker_tid = event.tid;
  wait.woken_ns = event.time_ns;
  changes.push_back({.time_ns = event.time_ns, .state = State::kRunnable});
}

ExactWaits ExactPaths::Of(std::uint32_t tid, ExactRange range, const Names& names) const {
  ExactWaits waits;
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return waits;
  const Changes& changes = found->second;
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
    const Change& change = changes[i];
    if (change.state != State::kBlocked) continue;
    const ExactRange wait = Common({change.time_ns, changes[i + 1].time_ns}, range);
    waits.blocked_ns += LengthNs(wait);
    if (LengthNs(wait) > 0) waits.unsure_ns += kRoundingNs;
    if (change.runnable_ns > change.woken_ns)
      waits.unsure_ns += static_cast<double>(change.runnable_ns - change.woken_ns);
    AddEnds(change, wait, "", 0, {names, waits});
  }
  return waits;
}

void ExactPaths::AddEnds(const Change& wait, ExactRange range, const std::string& prefix, int depth,
                         const Walk& walk) const {
  if (range.begin_ns == range.end_ns) return;
  const auto add = [&](const std::string& end, ExactRange part) {
    walk.waits.ns_by_path[prefix + end] += LengthNs(part);
  };
  if (depth == kMaxSteps) return add("?too long", range);
  if (wait.waker == Waker::kInterrupt) return add("timer", range);
  const auto found = threads_.find(wait.waker_tid);
  if (wait.waker != Waker::kThread || found == threads_.end()) return add("?not seen", range);
  const Changes& changes = found->second;
  const std::string name = walk.names(wait.waker_tid) + " ";
  std::uint64_t known_ns = range.begin_ns;
  auto change = std::ranges::upper_bound(changes, range.begin_ns, {}, &Change::time_ns);
  if (change != changes.begin()) --change;
  for (; change != changes.end() && change->time_ns < range.end_ns; ++change) {
    const std::uint64_t end_ns = change + 1 == changes.end() ? range.end_ns : (change + 1)->time_ns;
    const ExactRange part = Common({change->time_ns, end_ns}, range);
    if (part.begin_ns > known_ns) add("?not seen", {known_ns, part.begin_ns});
    known_ns = std::max(known_ns, part.end_ns);
    if (change->state == State::kBlocked)
      AddEnds(*change, part, prefix + name, depth + 1, walk);
    else
      add(name + "runs", part);
  }
  if (known_ns < range.end_ns) add("?not seen", {known_ns, range.end_ns});
}

}  // namespace profd::accuracy
