#include "daemon/aggregate/thread_history.h"

#include <algorithm>
#include <array>
#include <bit>
#include <ranges>

#include "daemon/aggregate/profile.h"

namespace profd::aggregate {
namespace {

using ClockFields = std::array<std::uint64_t, sizeof(profd_clock) / sizeof(std::uint64_t)>;

// A reading of a thread that runs may have counted as run what was stolen, or the other way round:
// only the sum of both never goes back. `stolen` is b less a, or 0 where that goes back; what does
// not fit is run time.
bool SplitOnCpu(const profd_clock& a, const profd_clock& b, profd_clock& difference) {
  const auto sum = [](const profd_clock& clock) { return clock.on_cpu_ns + StolenClock(clock); };
  if (sum(b) < sum(a)) return false;
  std::uint64_t left = sum(b) - sum(a);
  for (std::size_t i = 0; i < PROFD_STOLEN_MAX; ++i) {
    const std::uint64_t grown = b.stolen_ns[i] - std::min(a.stolen_ns[i], b.stolen_ns[i]);
    difference.stolen_ns[i] = std::min(grown, left);
    left -= difference.stolen_ns[i];
  }
  difference.on_cpu_ns = left;
  return true;
}

profd_clock WithoutOnCpu(profd_clock clock) {
  clock.on_cpu_ns = 0;
  std::ranges::fill(clock.stolen_ns, 0);
  return clock;
}

// b - a. Nothing if any other field of b is smaller: a true clock never goes back, so the readings
// are not of one clock.
std::optional<profd_clock> Difference(const profd_clock& a, const profd_clock& b) {
  const auto from = std::bit_cast<ClockFields>(WithoutOnCpu(a));
  auto to = std::bit_cast<ClockFields>(WithoutOnCpu(b));
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] < from[i]) return std::nullopt;
    to[i] -= from[i];
  }
  auto difference = std::bit_cast<profd_clock>(to);
  if (!SplitOnCpu(a, b, difference)) return std::nullopt;
  return difference;
}

std::optional<profd_moves> MovesOf(const wire::ClockEvent& event, bool final) {
  if (!event.moves) return std::nullopt;
  return final ? event.moves->final : event.moves->at_epoch;
}

// They count modulo 2^32.
std::optional<Migrations> Difference(const std::optional<profd_moves>& a,
                                     const std::optional<profd_moves>& b) {
  if (!a || !b) return std::nullopt;
  return Migrations{b->core - a->core, b->cache - a->cache, b->node - a->node};
}

// The end by kernel accounting is where its sums end: the event may come later.
std::uint64_t EndOf(const wire::ClockEvent& event) {
  if (!event.observation) return event.header.time_ns;
  return event.begin_ns + ClockTotal(event.final);
}

}  // namespace

void ThreadHistory::OnFork(const wire::ForkEvent& event) {
  seen_ = true;
  fork_ns_ = event.header.time_ns;
  SetComm(event.comm);
}

void ThreadHistory::OnClock(const wire::ClockEvent& event) {
  seen_ = true;
  clock_begin_ns_ = event.begin_ns;
  // Kernel accounting begins a little before the fork is reported.
  if (event.observation && fork_ns_ != 0) fork_ns_ = event.begin_ns;
  SetComm(event.comm);
  if (event.epoch != 0) AddReading(event);
  // An end without the state "dead" means that the thread left the session, unless its exit event
  // has said otherwise.
  if (!event.end) return;
  if (event.observation) earlier_end_ = end_;
  end_ = End{EndOf(event), event.final, event.state == PROFD_STATE_DEAD || exit_ns_ != 0,
             MovesOf(event, true)};
}

void ThreadHistory::OnExit(const wire::ExitEvent& event) { exit_ns_ = event.header.time_ns; }

void ThreadHistory::Rename(const ThreadKey& key, const ProcessKey& process) {
  key_ = key;
  process_ = process;
}

void ThreadHistory::SetComm(const std::string& comm) {
  if (!comm.empty()) comm_ = comm;
}

void ThreadHistory::OnSeen(std::uint32_t cpu) {
  const auto number = static_cast<std::uint16_t>(cpu);
  const auto at = std::lower_bound(cpus_.begin(), cpus_.end(), number);
  if (at == cpus_.end() || *at != number) cpus_.insert(at, number);
}

void ThreadHistory::AddReading(const wire::ClockEvent& event) {
  // An epoch can be reported twice: the task iterator reads it, and the end of the thread repeats
  // the last epoch that the thread has passed. The totals are the same.
  const auto next = std::lower_bound(
      readings_.begin(), readings_.end(), event.epoch,
      [](const Reading& reading, std::uint64_t epoch) { return reading.at.epoch < epoch; });
  if (next != readings_.end() && next->at.epoch == event.epoch) return;
  readings_.insert(next, Reading{{event.epoch, event.epoch_ns},
                                 event.observation ? std::nullopt : std::optional(event.since_ns),
                                 event.end ? PROFD_STATE_DEAD : event.state,
                                 event.at_epoch,
                                 MovesOf(event, false)});
  // Other sessions add epochs of theirs. The first reading is the start of this session, and only
  // one of the latest can be its end, so a reading in between can go.
  if (readings_.size() > kMaxReadings) readings_.erase(readings_.begin() + 1);
}

std::optional<ThreadHistory::Reading> ThreadHistory::FirstReading(const Instant& start,
                                                                  const Instant& end) const {
  for (const auto& reading : readings_)
    if (reading.at.epoch >= start.epoch && reading.at.epoch <= end.epoch) return reading;
  return std::nullopt;
}

std::optional<ThreadHistory::Reading> ThreadHistory::LastReading(const Instant& start,
                                                                 const Instant& end) const {
  for (const auto& reading : std::views::reverse(readings_))
    if (reading.at.epoch >= start.epoch && reading.at.epoch <= end.epoch) return reading;
  return std::nullopt;
}

Lifetime ThreadHistory::Resolve(const Instant& start, const Instant& end) const {
  Lifetime life;
  life.window = Window{start.time_ns, end.time_ns};

  const auto first = FirstReading(start, end);
  const auto last = LastReading(start, end);
  // If the fork event is missing, the begin of the clock is used. That would be wrong for an old
  // thread that joined the session later: its clock began when it joined, and its first reading,
  // unless that is the one of the session's end, says when.
  const std::uint64_t born_ns = fork_ns_ != 0 ? fork_ns_ : clock_begin_ns_;
  const bool at_start = first && first->at.time_ns <= start.time_ns;
  const bool joined = fork_ns_ == 0 && first && first->at.epoch < end.epoch;
  life.began = !at_start && !joined && born_ns >= start.time_ns && born_ns != 0;
  // The reading of the start was lost. The thread existed from the start, without a clock.
  const bool only_at_end =
      first && first->at.epoch == end.epoch && first->at.time_ns <= end.time_ns;
  if (life.began) {
    life.window.begin_ns = std::min(born_ns, end.time_ns);
  } else if (first && !only_at_end) {
    life.window.begin_ns = std::min(first->at.time_ns, end.time_ns);
  }

  // A thread that was read at the end existed then, even if its exit event is older: a thread that
  // exits can take long to release its memory, and its clock runs meanwhile.
  const bool there = last && last->at.epoch == end.epoch;
  // What it did after it had ended may lie beyond the session, as a whole.
  const std::optional<End>& its_end =
      earlier_end_ && end_ && end_->time_ns > end.time_ns ? earlier_end_ : end_;
  const std::uint64_t gone_ns = there ? 0 : exit_ns_;
  const std::uint64_t ended_ns = its_end ? its_end->time_ns : gone_ns;
  const profd_clock* final = nullptr;
  std::optional<profd_moves> final_moves;
  if (ended_ns != 0 && ended_ns <= end.time_ns) {
    life.exited = !its_end || its_end->died;
    // The final clock event has the exact end time. The exit event comes earlier, and its time is
    // too early.
    life.window.end_ns = std::min(std::max(ended_ns, exit_ns_), end.time_ns);
    if (its_end) {
      final = &its_end->totals;
      final_moves = its_end->moves;
    }
  } else if (last && (life.began || last->at.epoch != first->at.epoch)) {
    // The thread lives on, so its window ends with the session even if it was not read there. The
    // time since the last reading is then missing in its clock, and the closure error shows it.
    final = &last->totals;
    final_moves = last->moves;
    if (last->at.epoch == end.epoch && last->state == PROFD_STATE_BLOCKED)
      life.blocked_since_ns = last->since_ns;
    if (last->at.epoch == end.epoch && last->state == PROFD_STATE_RUNNABLE)
      life.runnable_since_ns = last->since_ns;
  }
  life.window.end_ns = std::max(life.window.end_ns, life.window.begin_ns);

  // A clock inside the session needs two readings; that of a new thread begins with zeros.
  if (final == nullptr || (!life.began && !first)) return life;
  const auto inside = Difference(life.began ? profd_clock{} : first->totals, *final);
  if (!inside) return life;
  life.clock = *inside;
  life.migrations = Difference(life.began ? profd_moves{} : first->moves, final_moves);
  life.clock_missing = false;
  return life;
}

}  // namespace profd::aggregate
