#include "daemon/source/sessions/sessions.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "daemon/base/proc/own_usage.h"
#include "daemon/source/bpf/control_word.h"
#include "daemon/source/bpf/iterator.h"
#include "daemon/source/probe/features.h"
#include "daemon/source/sessions/filter.h"
#include "daemon/wire/event_names.h"

namespace profd::source {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kLongestPeriodNs = 3'600 * kNsPerSecond;
constexpr std::uint64_t kShortestPeriodNs = 1'000;

std::uint64_t BitOf(std::uint32_t slot) { return std::uint64_t{1} << slot; }

std::string RateOf(std::uint64_t period_ns) {
  return std::to_string(
      std::llround(static_cast<double>(kNsPerSecond) / static_cast<double>(period_ns)));
}

Result<void> CheckPeriod(std::uint64_t period_ns) {
  if (period_ns >= kShortestPeriodNs && period_ns <= kLongestPeriodNs) return {};
  return Error{ErrorCode::kInvalidArgument,
               "a sampling period of " + std::to_string(period_ns) + " ns is out of range",
               "periods are between 1 us and 1 h"};
}

Result<void> CheckRate(std::uint64_t period_ns, std::uint64_t limit_hz) {
  if (limit_hz == 0 || period_ns >= kNsPerSecond / limit_hz) return {};
  return Error{
      ErrorCode::kInvalidArgument,
      RateOf(period_ns) + " Hz is above the kernel's limit of " + std::to_string(limit_hz) + " Hz",
      "ask for less, or raise kernel.perf_event_max_sample_rate"};
}

Error NoSession(std::uint32_t session) {
  return {ErrorCode::kNotFound, "no session " + std::to_string(session) + " is running", ""};
}

Error NoSlot() {
  return {ErrorCode::kExhausted,
          "all " + std::to_string(PROFD_MAX_SESSIONS) + " sessions are in use",
          "end one, or wait for an end"};
}

}  // namespace

Sessions::Sessions(const Parts& parts)
    : parts_(parts),
      membership_(parts.objects, parts.proc),
      members_(parts.objects, parts.proc, parts.processes, parts.clock, parts.counters),
      epochs_(parts.objects.control(), parts.clock),
      ends_(parts.objects),
      periods_(parts.objects.control(), parts.on_cpu_events, parts.pending, parts.clock,
               parts.objects.point_seed()),
      background_(parts.objects, parts.snapshots, parts.observers, parts.counters),
      observers_({.fds = parts.objects.observer_fds(),
                  .point_seed = parts.objects.point_seed(),
                  .clock = parts.clock,
                  .readers = parts.observers,
                  .control = parts.objects.control()}),
      steps_(
          {.program_fd = parts.objects.step_program_fd(),
           .put = [&pending = parts.pending](auto events) { pending.PutAfter(std::move(events)); },
           .clock = parts.clock}) {}

Result<session::StartedSession> Sessions::Start(const session::SessionSpec& requested) {
  const std::scoped_lock lock(mutex_);
  session::SessionSpec spec = requested;
  // To see what runs, any clock will do.
  if (spec.dump) spec.clock = table_.clock().value_or(spec.clock);
  // The mode comes before the check: sessions without hooks are refused what only hooks can do.
  AdoptMode(spec);
  PROFD_TRY(CheckSpec(spec));
  // Before threads become members: each begins its sums then, by counters that count already.
  PROFD_TRY(OpenCounters(spec));
  // Sampling points have periods of powers of two ns, and the profile names the period that the
  // session really has.
  spec.off_cpu_period_ns = session::NearestOffCpuPeriodNs(spec.off_cpu_period_ns);
  spec.first_budget_until_ns = parts_.clock.MonotonicNs() + session::kFirstBudgetNs;
  const auto slot = table_.NextSlot();
  if (!slot) {
    if (table_.counted() == 0) parts_.pmu_events.Close();
    return NoSlot();
  }
  // From here on Withdraw undoes everything: it needs the session in the table.
  table_.Add(*slot, spec);
  // Before the session is visible to observers. One that visits a thread first would take the stack
  // that it has read for another session as this one's, too, which has never received it.
  SetFirst(*slot, spec.observed && !spec.dump);
  // The CPU budget sees the count grow and forgets what was spent before. The factors that it has
  // set go at the same time: a new session does not pay for an old one.
  ++(spec.background ? starts_.background : starts_.requested);
  periods_.Reset(spec.background);
  const auto enlisted = Enlist(*slot, spec);
  const auto start = enlisted ? Begin(*slot, spec) : enlisted.error();
  if (!start) {
    Withdraw(*slot);
    return start.error();
  }
  return session::StartedSession{*slot, start->time_ns};
}

Result<void> Sessions::CheckSpec(const session::SessionSpec& spec) const {
  if (!spec.on_cpu && !spec.off_cpu) {
    return Error{ErrorCode::kInvalidArgument,
                 "a session needs on-CPU samples, off-CPU samples, or both", ""};
  }
  if (spec.on_cpu) {
    PROFD_TRY(CheckPeriod(spec.on_cpu_period_ns));
    PROFD_TRY(CheckRate(spec.on_cpu_period_ns, MaxSampleRateHz(parts_.proc)));
    // All sessions share one perf event per CPU, which has one clock.
    if (table_.clock().value_or(spec.clock) != spec.clock) {
      return Error{ErrorCode::kUnavailable, "a running session samples by another on-CPU clock",
                   "ask for the same clock, or wait for its end"};
    }
  }
  if (spec.off_cpu) PROFD_TRY(CheckPeriod(spec.off_cpu_period_ns));
  PROFD_TRY(StepProbes::CheckSpec(spec));
  if (spec.switches && (spec.observed || !spec.off_cpu))
    return Error{ErrorCode::kUnsupported, "switches are recorded by the hooks of a switch",
                 spec.observed ? "this session has none, as status says; leave out --switches"
                               : "record with -m wall or -m off"};
  if (spec.counters && spec.observed)
    return Error{ErrorCode::kUnsupported, "hardware counters are read by the hooks of a switch",
                 "this session has none, as status says; leave out --counters"};
  if (spec.observed && !spec.dump && !observers_.supported()) {
    return Error{ErrorCode::kUnsupported, "snapshot mode: " + observers_.Describe(),
                 "ask for a session with hooks"};
  }
  return {};
}

Result<void> Sessions::OpenCounters(session::SessionSpec& spec) {
  if (!spec.counters) return {};
  const auto opened = parts_.pmu_events.Open();
  if (!opened) return opened.error();
  spec.open_counters = opened->counters;
  spec.counters_refused = opened->refused;
  return {};
}

void Sessions::AdoptMode(session::SessionSpec& spec) const {
  // A roll passes on what the window before had. If the source had put that window into snapshot
  // mode, it is no request: the next one has hooks again once they are allowed.
  const bool requested = spec.observed && !spec.hooks_refused;
  if (spec.dump) {
    // Where hooks keep clocks anyway, these say most of what threads do now.
    spec.observed = !parts_.objects.has_switch_hooks();
  } else {
    spec.observed = requested || hooks_refused_ || parts_.hook == PROFD_HOOK_NONE;
    spec.hooks_refused = !requested && spec.observed;
  }
}

Result<void> Sessions::NeedSwitchHooks() {
  // Hooks cost something at every switch of the host. Sessions in snapshot mode do without them.
  if ((table_.running() & ~table_.observed()) == 0) return {};
  if (table_.wakers() != 0) PROFD_TRY(parts_.objects.AttachWakerHook());
  if ((table_.wakers() & table_.switches()) != 0) PROFD_TRY(parts_.objects.AttachRecorder());
  hooks_needed_ = std::chrono::steady_clock::now();
  if (parts_.objects.has_switch_hooks()) return {};
  PROFD_TRY(parts_.objects.AttachSwitchHooks());
  has_switch_hooks_ = true;
  // Clocks stood still while no hook was attached, and their old sums do not count. Every thread
  // begins a new one, members or not: any thread can join the session later.
  const auto adopted = ReadIterator(parts_.objects.assign_link_fd());
  return adopted ? Result<void>() : adopted.error();
}

void Sessions::SetFirst(std::uint32_t slot, bool first) {
  profd_control& control = parts_.objects.control();
  StoreControl(control.first_sessions,
               (control.first_sessions & ~BitOf(slot)) | (first ? BitOf(slot) : 0));
}

void Sessions::FollowObservers() {
  if (periods_.observed_level() != 0)
    observers_.Run(periods_.observed_level(), (table_.visited() & table_.requested()) != 0);
}

Result<void> Sessions::Enlist(std::uint32_t slot, const session::SessionSpec& spec) {
  PROFD_TRY(NeedSwitchHooks());
  // The filter is complete before its session is announced: programs match new threads at once.
  PROFD_TRY(membership_.WriteTarget(slot, spec));
  // Before /proc is read in Begin: a mapping made meanwhile is in the text, in an event, or in
  // both, but never in neither.
  PROFD_TRY(parts_.side_band.Open());
  PROFD_TRY(membership_.Assign(slot, table_));
  NoteRunning();
  // Last, because it starts the sampling, which finds no members before.
  PROFD_TRY(periods_.Follow(table_));
  FollowObservers();
  return {};
}

Result<Epoch> Sessions::Begin(std::uint32_t slot, const session::SessionSpec& spec) {
  // An epoch only to see who is there: what /proc says of them is to stand before the start.
  SleepPast(epochs_.Announce());
  const auto members = members_.ReadClocks(BitOf(slot));
  if (!members) return members.error();
  const bool by_id = spec.target.kind == session::TargetKind::kPids ||
                     spec.target.kind == session::TargetKind::kTids;
  // Only a name, a cgroup or the host can get its first member later. An id that matches nothing
  // now never will.
  if (members->empty() && by_id) return NotFound(spec.target);
  auto processes = members_.ReadProcesses(*members);
  // A session that goes on has the time to make them as stacks need them.
  if (!spec.background)
    PrepareTables(spec.dump ? BlockedStacks::For::kDump : BlockedStacks::For::kSession, processes);
  // In front of the START: an error needs no END, and places are watched when the session begins.
  PROFD_TRY(steps_.Start(slot, spec, processes));
  // Samples wait in the rings, which are drained after these: their addresses find the mappings.
  parts_.pending.PutBefore(std::move(processes));

  const Epoch epoch = AnnounceStart(slot, spec, std::nullopt);
  SleepPast(epoch);
  auto clocks = members_.ReadClocks(BitOf(slot));
  if (!clocks) {
    // The START is on its way, so the pipeline has a builder that only an END closes.
    PutFailedStart(slot, spec, epoch);
    return clocks.error();
  }
  parts_.pending.PutAfter(*std::move(clocks));
  steps_.Announce(slot);
  return epoch;
}

void Sessions::UpdateStolenRatio(std::uint64_t stolen_ns) {
  // The CPUs and their interrupts have long lines behind the first one.
  const auto stat = parts_.proc.Read("stat");
  const auto busy_ns = stat ? BusyNs(*stat) : std::nullopt;
  if (!busy_ns) return;
  StoreControl(parts_.objects.control().stolen_ratio, stolen_ratio_.Update(stolen_ns, *busy_ns));
}

Epoch Sessions::AnnounceStart(std::uint32_t slot, const session::SessionSpec& spec,
                              std::optional<std::uint32_t> follows) {
  const std::vector<std::uint64_t> counters = parts_.counters();
  std::vector<wire::EventBytes> start;
  // Read in front of the epoch: what is lost at its instant counts for the session. A little that
  // was lost before it may count, too.
  start.push_back(wire::LayOutCounters(parts_.clock.MonotonicNs(), counters));
  UpdateStolenRatio(counters[PROFD_COUNTER_STOLEN_NS]);
  const Epoch epoch = epochs_.Announce();
  start.push_back(SessionEvent(PROFD_EVENT_SESSION_START, slot, spec, epoch,
                               counters[PROFD_COUNTER_COST_NS], follows));
  // Put at once: the epoch is still ahead as a rule, so events from after it find the session in
  // the pipeline.
  parts_.pending.PutBefore(std::move(start));
  beyond_before_[slot] = parts_.beyond_shares();
  return epoch;
}

std::vector<wire::EventBytes> Sessions::BeyondShareEvents(std::uint32_t slot,
                                                          const session::SessionSpec& spec) const {
  std::vector<wire::EventBytes> events;
  const auto before = beyond_before_.find(slot);
  const std::vector<BeyondShare> none;
  for (const BeyondShare& now : budget::BeyondSince(
           before == beyond_before_.end() ? none : before->second, parts_.beyond_shares())) {
    const bool of_user = wire::IsOfUser(static_cast<profd_share_kind>(now.key.kind));
    // A session of one user does not say what other users do.
    if (of_user && spec.target.uid && spec.target.uid != now.key.id) continue;
    profd_beyond_share_event event{};
    event.event.time_ns = parts_.clock.MonotonicNs();
    event.event.sessions = BitOf(slot);
    event.event.pid = of_user ? 0 : now.key.id;
    event.kind = now.key.kind;
    event.uid = of_user ? now.key.id : 0;
    event.count = now.count;
    events.push_back(wire::LayOut(PROFD_EVENT_BEYOND_SHARE, event));
  }
  return events;
}

void Sessions::PutFailedStart(std::uint32_t slot, const session::SessionSpec& spec,
                              const Epoch& epoch) {
  std::vector<wire::EventBytes> end;
  end.push_back(SessionEvent(PROFD_EVENT_SESSION_END, slot, spec, epoch, 0));
  parts_.pending.PutAfter(std::move(end));
}

Result<session::StartedSession> Sessions::Roll(std::uint32_t session) {
  const std::scoped_lock lock(mutex_);
  const session::SessionSpec* found = table_.Find(session);
  if (found == nullptr) return NoSession(session);
  // A copy: Withdraw empties the slot.
  const session::SessionSpec spec = *found;
  // Members of others are not all found by their filter: children whose parents have ended.
  if (spec.target.kind != session::TargetKind::kAll || spec.dump) {
    return Error{ErrorCode::kInvalidArgument, "only a session on the whole host can be rolled", ""};
  }
  // Both sessions run for a moment, so a roll needs a free slot of its own.
  const auto slot = table_.NextSlot();
  if (!slot) return NoSlot();
  session::SessionSpec next = spec;
  AdoptMode(next);
  table_.Add(*slot, next);
  // Where both windows are in snapshot mode, the pipeline hands the stacks over, and observers need
  // not read those of threads that have not moved.
  SetFirst(*slot, next.observed && !spec.observed);
  if (const auto enlisted = Enlist(*slot, next); !enlisted) {
    Withdraw(*slot);
    return enlisted.error();
  }
  const Epoch epoch = AnnounceStart(*slot, next, session);
  SleepPast(epoch);
  // One reading for both: what ends one window begins the next, to the ns.
  auto clocks = members_.ReadClocks(BitOf(session) | BitOf(*slot));
  if (!clocks) {
    // The window before is left as it is. It runs on, and the caller may roll it again.
    PutFailedStart(*slot, next, epoch);
    Withdraw(*slot);
    return clocks.error();
  }
  parts_.pending.PutAfter(*std::move(clocks));
  // Only hooks count threads that are exiting. One that is counted no more has its THREAD_END in a
  // ring, and so in front of the END.
  if (!spec.observed) ends_.Await();

  // After the clocks, because it may take long. The epoch stays exact meanwhile, and a thread that
  // leaves its wait is not walked.
  BlockedStacks::Rolled rolled = rolled_[session];
  std::vector<wire::EventBytes> end;
  if (spec.off_cpu && !spec.observed) {
    end = background_.ReadWindow(session, epoch, rolled);
  }
  // Before Withdraw, which forgets what was beyond shares when the session began.
  std::ranges::move(BeyondShareEvents(session, spec), std::back_inserter(end));
  // The programs stop reporting for the session first, and the END is put after that. So no event
  // of the session can come behind its END.
  Withdraw(session);
  // Stacks of one mode are not taken over by the other.
  if (next.observed != spec.observed) rolled = {};
  rolled_[*slot] = rolled;
  // Without COUNTERS: those before the start end this window, too.
  end.push_back(SessionEvent(PROFD_EVENT_SESSION_END, session, spec, epoch,
                             parts_.counters()[PROFD_COUNTER_COST_NS]));
  parts_.pending.PutAfter(std::move(end));
  return session::StartedSession{*slot, epoch.time_ns};
}

Result<void> Sessions::Stop(std::uint32_t session) {
  const std::scoped_lock lock(mutex_);
  if (table_.Find(session) == nullptr) return NoSession(session);
  const session::SessionSpec spec = *table_.Find(session);
  // Moves to other cgroups that Maintain has not followed yet: threads join or leave the session
  // while it still has time for them.
  membership_.Reevaluate(table_);
  UpdateStolenRatio(parts_.counters()[PROFD_COUNTER_STOLEN_NS]);
  const Epoch epoch = epochs_.Announce();
  SleepPast(epoch);
  const auto clocks = members_.ReadClocks(BitOf(session));
  std::vector<wire::EventBytes> events;
  if (clocks) events = *clocks;
  // A dump shows what is there, and has no use for threads that are about to end.
  if (!spec.observed && !spec.dump) ends_.Await();
  if (spec.dump) {
    // There is one clock for each member, so it knows how many threads to look for.
    std::ranges::move(background_.ReadDump(session, events.size()), std::back_inserter(events));
  } else if (spec.off_cpu && !spec.observed) {
    // Stacks of threads that were blocked at the last roll are with the builder of this window.
    const auto rolled = rolled_.find(session);
    const std::uint64_t since_ns = rolled == rolled_.end() ? 0 : rolled->second.reported_until_ns;
    std::ranges::move(background_.ReadBlocked(session, epoch, since_ns),
                      std::back_inserter(events));
  }
  std::ranges::move(BeyondShareEvents(session, spec), std::back_inserter(events));
  Withdraw(session);

  // Read after the last event of the session, so that all its losses are in them.
  const std::vector<std::uint64_t> counters = parts_.counters();
  events.push_back(wire::LayOutCounters(parts_.clock.MonotonicNs(), counters));
  events.push_back(
      SessionEvent(PROFD_EVENT_SESSION_END, session, spec, epoch, counters[PROFD_COUNTER_COST_NS]));
  parts_.pending.PutAfter(std::move(events));
  // Without clocks the session has ended all the same: its threads are marked in the profile.
  return clocks ? Result<void>() : clocks.error();
}

void Sessions::Withdraw(std::uint32_t slot) {
  const session::SessionSpec spec = *table_.Find(slot);
  steps_.Stop(slot);
  table_.Remove(slot);
  rolled_.erase(slot);
  beyond_before_.erase(slot);
  NoteRunning();
  // What is left was effective before, at least as finely: it cannot fail for a new reason.
  (void)periods_.Follow(table_);
  FollowObservers();
  membership_.Remove(slot, spec, table_);
  (spec.observed ? observers_needed_ : hooks_needed_) = std::chrono::steady_clock::now();
  // The kernel writes a record for each executable mapping of the host while it is open.
  if (table_.running() == 0) parts_.side_band.Close();
  if (table_.counted() == 0) parts_.pmu_events.Close();
}

void Sessions::NoteRunning() {
  running_ = table_.running();
  requested_ = table_.requested();
}

void Sessions::Maintain() {
  constexpr std::chrono::seconds kInterval{1};
  const auto now = std::chrono::steady_clock::now();
  // A session that starts or ends meanwhile takes a while, and the caller has rings to read.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  // At every call, not once a second: until then a thread that has moved is missing from its
  // session, or is one too many.
  if (membership_.has_moves()) membership_.Reevaluate(table_);
  if (now - maintained_ < kInterval) return;
  maintained_ = now;
  parts_.pmu_events.Refresh();
  for (const Observers::Hang& hang : observers_.TakeHangs())
    // Without a pid the observer hung elsewhere, and no process is to blame.
    if (hang.pid != 0) background_.NoteHang(hang.pid, hang.request);
  if (table_.visited() != 0) {
    observers_needed_ = now;
    // Processes that are left alone get another chance after some time. Sessions with hooks need no
    // timer for that: each of their snapshots publishes what holds.
    background_.Publish();
  } else if (now - observers_needed_ >= kStay) {
    observers_.Stop();
  }
  if (table_.wakers() != 0)
    wakers_needed_ = now;
  else if (now - wakers_needed_ >= kStay)
    parts_.objects.DetachWakerHook();
  if (table_.switches() == 0) parts_.objects.DetachRecorder();
  const bool needed = (table_.running() & ~table_.observed()) != 0;
  if (needed || !parts_.objects.has_switch_hooks() || now - hooks_needed_ < kStay) return;
  parts_.objects.DetachSwitchHooks();
  has_switch_hooks_ = false;
}

session::BudgetReading Sessions::Budget() {
  const std::scoped_lock lock(mutex_);
  const auto read = [this](profd_counter counter) { return parts_.objects.ReadCounter(counter); };
  // Not read at one instant: a part may be more than the whole.
  const std::uint64_t background_ns = read(PROFD_COUNTER_BACKGROUND_STACKS_NS);
  const std::uint64_t stacks_ns = std::max(background_ns, read(PROFD_COUNTER_STACKS_NS));
  session::BudgetReading reading{.sampling = table_.budgets(parts_.clock.MonotonicNs())};
  reading.sampling.requested.spent_ns = stacks_ns - background_ns;
  reading.sampling.requested.starts = starts_.requested;
  reading.sampling.background.spent_ns = background_ns;
  reading.sampling.background.starts = starts_.background;
  // The programs count all of their time and, of that, what they need for stacks.
  reading.clock_ns = std::max(stacks_ns, read(PROFD_COUNTER_COST_NS)) - stacks_ns;
  reading.switches = read(PROFD_COUNTER_SWITCHES);
  // Observers are processes: their CPU time is in no counter of the programs.
  const session::PerKind<std::uint64_t> observers_ns = observers_.cpu_ns();
  const session::PerKind<std::uint64_t> observed = table_.observed_periods_ns();
  // Observers have a longest period. Beyond it a factor saves nothing, and the controller turns to
  // the periods on a CPU.
  const auto most = [](std::uint64_t period_ns) {
    constexpr auto kLongest = static_cast<double>(std::uint64_t{1} << PROFD_LONG_LEVEL);
    return period_ns == 0 ? 0 : kLongest / static_cast<double>(period_ns);
  };
  reading.sampling.requested.most_off_cpu_factor = most(observed.requested);
  reading.sampling.background.most_off_cpu_factor = most(observed.background);
  reading.sampling.requested.spent_ns += observers_ns.requested;
  reading.sampling.background.spent_ns += observers_ns.background;
  return reading;
}

bool Sessions::RefuseHooks(bool refuse) {
  const std::scoped_lock lock(mutex_);
  // A session without hooks is in snapshot mode. Where there is none, all would be refused.
  if (refuse && !observers_.supported()) return false;
  hooks_refused_ = refuse;
  return true;
}

void Sessions::SetPeriodFactors(const session::PerKind<session::PeriodFactors>& factors) {
  const std::scoped_lock lock(mutex_);
  periods_.SetFactors(factors, table_);
  FollowObservers();
}

void Sessions::PrepareTables(BlockedStacks::For whom, std::span<const wire::EventBytes> processes) {
  if (!tables_.prefetch || !tables_.await) return;
  for (const wire::EventBytes& process : processes) {
    profd_event header{};
    if (wire::ReadHeader(process, &header))
      tables_.prefetch(whom, {header.pid, header.process_start_ns});
  }
  // Not all tables may be ready then. Stacks that lack one end early and say why, and the programs
  // request the table again.
  (void)tables_.await(whom, 0, kTablesAtStart);
}

wire::EventBytes Sessions::SessionEvent(profd_event_kind kind, std::uint32_t slot,
                                        const session::SessionSpec& spec, const Epoch& epoch,
                                        std::uint64_t bpf_cost_ns,
                                        std::optional<std::uint32_t> follows) const {
  profd_session_event event{};
  // A start stands where its epoch is, in front of the clocks, however long this thread was put
  // aside.
  event.event.time_ns =
      kind == PROFD_EVENT_SESSION_START ? epoch.time_ns : parts_.clock.MonotonicNs();
  // The bit of the session before lets the pipeline hand its open stacks over to this one.
  event.event.sessions = BitOf(slot) | (follows ? BitOf(*follows) : 0);
  event.session = slot;
  event.mode =
      (spec.on_cpu ? PROFD_SESSION_ON_CPU : 0u) | (spec.off_cpu ? PROFD_SESSION_OFF_CPU : 0u) |
      ((table_.wakers() & BitOf(slot)) != 0 ? PROFD_SESSION_WAKERS : 0u) |
      (spec.switches ? PROFD_SESSION_SWITCHES : 0u) | (spec.counters ? PROFD_SESSION_COUNTED : 0u) |
      spec.open_counters << PROFD_SESSION_COUNTERS_SHIFT |
      (spec.counters_refused ? PROFD_SESSION_COUNTERS_REFUSED : 0u) |
      (spec.background ? PROFD_SESSION_BACKGROUND : 0u) |
      (spec.observed ? PROFD_SESSION_OBSERVED : 0u);
  event.epoch = epoch.number;
  event.epoch_ns = epoch.time_ns;
  event.on_cpu_period_ns = spec.on_cpu_period_ns;
  event.off_cpu_period_ns = spec.off_cpu_period_ns;
  event.bpf_cost_ns = bpf_cost_ns;
  event.own_cpu_ns = OwnCpuNs();
  event.hook = spec.observed ? PROFD_HOOK_NONE : parts_.hook;
  return wire::LayOutSession(kind, event, session::FormatTarget(spec.target));
}

}  // namespace profd::source
