#include "daemon/source/bpf_source.h"

#include <poll.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/base/proc/own_usage.h"
#include "daemon/source/bpf/hook_check.h"
#include "daemon/source/bpf/iterator.h"
#include "daemon/source/perf/cpu_list.h"
#include "daemon/source/perf/cpu_places.h"
#include "daemon/wire/event_names.h"

namespace profd::source {
namespace {

constexpr std::chrono::seconds kRefreshInterval(1);
// For so long the status names who was beyond a share.
constexpr std::uint64_t kInStatusNs = 10'000'000'000;

std::vector<std::string> ReadFinishTaskSymbols() {
  const auto kallsyms = ProcFs().Read("kallsyms");
  return kallsyms ? FinishTaskSymbols(*kallsyms) : std::vector<std::string>();
}

void AddReason(const std::string& reason, std::string* reasons) {
  if (!reasons->empty()) reasons->append("; ");
  reasons->append(reason);
}

ObserverKind Lesser(ObserverKind kind) {
  return kind == ObserverKind::kProgram ? ObserverKind::kIterator : ObserverKind::kNone;
}

// Snapshot mode is not worth failing for: a kernel may have its functions, and not offer them to
// this kind of program.
Result<std::unique_ptr<BpfObjects>> Load(const HookLevel& level, Features features) {
  auto objects = BpfObjects::Load(level, features);
  while (!objects && objects.error().code == ErrorCode::kUnsupported &&
         features.observers != ObserverKind::kNone) {
    features.observers = Lesser(features.observers);
    if (auto again = BpfObjects::Load(level, features)) return again;
  }
  return objects;
}

// Loads for this level and makes sure that it works.
Result<std::unique_ptr<BpfObjects>> Try(const HookLevel& level, const Features& features) {
  auto objects = Load(level, features);
  if (!objects) return objects.error();
  if (level.hook == PROFD_HOOK_NONE && (*objects)->observer_kind() == ObserverKind::kNone)
    return Error{ErrorCode::kUnsupported, "no hook, and no observers for snapshot mode", ""};
  // Every thread gets its clock: those that are there now, from here on those that are made.
  const auto adopted = ReadIterator((*objects)->assign_link_fd());
  if (!adopted) return adopted.error();
  if (level.hook == PROFD_HOOK_FINISH_TASK) PROFD_TRY(TestSwitchInHook(**objects));
  // Until a session needs them.
  (*objects)->DetachSwitchHooks();
  return objects;
}

}  // namespace

Result<std::unique_ptr<BpfSource>> BpfSource::Create(const SourceReaders& readers,
                                                     const BpfSourceOptions& options) {
  auto features = ProbeFeatures();
  if (!features) return features.error();
  auto wake = PendingEvents::MakeWakeFd();
  if (!wake) return wake.error();
  features->observers = std::min(features->observers, options.best_observers);
  features->cpu_places = ReadCpuPlaces();
  features->cpu_numbers = CpuNumbers();
  const bool first_level =
      features->sched_exit_tp &&
      options.force_hook.value_or(PROFD_HOOK_SCHED_EXIT) == PROFD_HOOK_SCHED_EXIT;
  const HookLevels hooks = MakeHookLevels(
      features->sched_exit_tp, first_level ? std::vector<std::string>() : ReadFinishTaskSymbols(),
      options.force_hook);
  std::string reasons = hooks.passed_over;
  Error last{ErrorCode::kUnsupported, "no way to capture switch-ins: " + reasons, ""};
  for (const HookLevel& level : hooks.levels) {
    auto objects = Try(level, *features);
    if (!objects && objects.error().code == ErrorCode::kPermissionDenied) return objects.error();
    if (!objects) {
      last = objects.error();
      AddReason(NameOf(level) + ": " + last.message, &reasons);
      if (!last.hint.empty()) reasons.append(", " + last.hint);
      continue;
    }
    auto rings = RingReader::Open((*objects)->rings());
    if (!rings) return rings.error();
    auto wanted = WantedRing::Open((*objects)->wanted_ring_fd());
    if (!wanted) return wanted.error();
    auto unwind_maps = LiveUnwindMaps::Create((*objects)->unwind_maps());
    if (!unwind_maps) return unwind_maps.error();
    return std::unique_ptr<BpfSource>(new BpfSource({.features = *std::move(features),
                                                     .hook = {level, reasons},
                                                     .objects = *std::move(objects),
                                                     .rings = *std::move(rings),
                                                     .wanted = *std::move(wanted),
                                                     .unwind_maps = *std::move(unwind_maps),
                                                     .wake = *std::move(wake),
                                                     .counters = options.counters},
                                                    readers));
  }
  return last;
}

BpfSource::BpfSource(Parts parts, const SourceReaders& readers)
    : features_(std::move(parts.features)),
      hook_(std::move(parts.hook)),
      objects_(std::move(parts.objects)),
      rings_(std::move(parts.rings)),
      wanted_(std::move(parts.wanted)),
      unwind_maps_(std::move(parts.unwind_maps)),
      python_processes_(objects_->python_processes_fd(), objects_->python_runtimes_fd(),
                        objects_->control()),
      label_processes_(objects_->label_processes_fd(), objects_->control()),
      on_cpu_events_(objects_->on_cpu_program_fd()),
      pmu_events_(objects_->pmu_fds(), objects_->control(), parts.counters),
      pending_(std::move(parts.wake)),
      backfill_(ProcessReader(proc_, readers.processes), clock_),
      cpu_places_(features_.cpu_places),
      sessions_({.objects = *objects_,
                 .side_band = side_band_,
                 .on_cpu_events = on_cpu_events_,
                 .pmu_events = pmu_events_,
                 .pending = pending_,
                 .proc = proc_,
                 .clock = clock_,
                 .snapshots = readers.snapshots,
                 .processes = readers.processes,
                 .observers = readers.observers,
                 .hook = hook_.level.hook,
                 .counters = [this] { return ReadCounters(); },
                 .beyond_shares = [this] { return BeyondShares(); }}) {}

void BpfSource::DrainSideBand(const Sink& sink) {
  const std::uint64_t before_ns = ThreadCpuNs();
  side_band_.Drain([&](std::uint32_t pid) { return backfill_.IsBeyondShare(pid); },
                   [&](const wire::EventBytes& event) { sink(wire::RawEvent{event}); });
  mappings_cpu_ns_.Add(ThreadCpuNs() - before_ns);
  if (const std::uint64_t lost = side_band_.lost(); lost != mmaps_lost_) {
    mmaps_lost_ = lost;
    backfill_.LostMappings();
  }
}

void BpfSource::RefreshCpuPlaces() {
  if (cpu_places_.empty()) return;
  const auto online = OnlineCpus();
  if (!online || std::ranges::equal(*online, cpu_places_, {}, {}, &CpuPlace::cpu)) return;
  auto places = ReadCpuPlaces();
  // A CPU goes or comes just now: the next time.
  if (places.empty() || !objects_->SetCpuPlaces(places)) return;
  cpu_places_ = std::move(places);
}

std::uint64_t BpfSource::Round(const Sink& sink) {
  std::uint64_t handed_over = 0;
  const Sink counting = [&](const wire::RawEvent& event) {
    ++handed_over;
    sink(event);
  };
  const auto pass = [&](const wire::RawEvent& event) {
    sessions_.NoteEvent(event);
    backfill_.Pass(event, counting);
  };
  if (on_wanted_) wanted_.Drain(on_wanted_);
  sessions_.Maintain();
  backfill_.BeginRound();
  // Taken before the rings are drained: whatever was written before `after` was put comes first.
  const PendingEvents::Taken taken = pending_.Take();
  for (const wire::EventBytes& event : taken.before) pass(wire::RawEvent{event});
  rings_.Drain(pass);
  DrainSideBand(pass);
  for (const wire::EventBytes& event : taken.after) pass(wire::RawEvent{event});
  backfill_.EndRound(counting);

  processes_gone_.Set(backfill_.gone());
  mmaps_dropped_.Set(backfill_.dropped());
  beyond_share_.Set(backfill_.beyond_share());
  malformed_.Set(rings_.malformed());
  const auto now = std::chrono::steady_clock::now();
  if (now - refreshed_ >= kRefreshInterval) {
    refreshed_ = now;
    side_band_.Refresh();
    RefreshCpuPlaces();
  }
  return handed_over;
}

std::chrono::milliseconds BpfSource::RoundInterval() const {
  if (sessions_.any_requested()) return kRequestedInterval;
  return sessions_.any_running() ? kBackgroundInterval : std::chrono::milliseconds::max();
}

void BpfSource::Wait(std::chrono::milliseconds longest) const {
  std::vector<pollfd> ready{{pending_.wake_fd(), POLLIN, 0}};
  if (on_wanted_) ready.push_back({wanted_.wait_fd(), POLLIN, 0});
  for (const int fd : rings_.wait_fds()) ready.push_back({fd, POLLIN, 0});
  // Interrupted or in error: the next round finds out.
  (void)::poll(ready.data(), ready.size(), static_cast<int>(longest.count()));
}

Result<wire::PollStatus> BpfSource::Poll(std::chrono::milliseconds timeout, const Sink& sink) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    if (Round(sink) > 0) return wire::PollStatus::kEvents;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return wire::PollStatus::kTimeout;
    Wait(std::min(left, RoundInterval()));
  }
}

Result<session::StartedSession> BpfSource::StartSession(const session::SessionSpec& spec) {
  return sessions_.Start(spec);
}

Result<void> BpfSource::StopSession(std::uint32_t session) { return sessions_.Stop(session); }

Result<session::StartedSession> BpfSource::RollSession(std::uint32_t session) {
  return sessions_.Roll(session);
}

std::vector<std::uint64_t> BpfSource::ReadCounters() const {
  std::vector<std::uint64_t> counters = objects_->ReadCounters();
  const session::PerKind<std::uint64_t> observers_ns = sessions_.observers_ns();
  // The CPU time of observers is that of their program, more or less.
  for (const profd_counter cost :
       {PROFD_COUNTER_COST_NS, PROFD_COUNTER_STACKS_NS, PROFD_COUNTER_BACKGROUND_STACKS_NS})
    counters[cost] += observers_ns.background;
  counters[PROFD_COUNTER_COST_NS] += observers_ns.requested;
  counters[PROFD_COUNTER_STACKS_NS] += observers_ns.requested;
  counters[PROFD_COUNTER_MMAP_LOST] = side_band_.lost() + mmaps_dropped_.value();
  counters[PROFD_COUNTER_PROCESS_GONE] = processes_gone_.value();
  counters[PROFD_COUNTER_SNAPSHOT_TIMEOUT] = sessions_.snapshot_timeouts();
  counters[PROFD_COUNTER_MALFORMED] =
      malformed_.value() + side_band_.malformed() + sessions_.malformed();
  counters[PROFD_COUNTER_CLOCKS_UNREAD] = sessions_.clocks_unread();
  counters[PROFD_COUNTER_BEYOND_SHARE] = beyond_share_.value();
  return counters;
}

std::uint64_t BpfSource::MapBytes() const { return objects_->MapBytes() + side_band_.ring_bytes(); }

session::SourceStatus BpfSource::Status() const {
  session::SourceStatus status;
  const auto online = OnlineCpus();
  status.levels.kernel_release = features_.kernel_release;
  status.levels.hook = NameOf(hook_.level);
  status.levels.hook_reason = hook_.reason;
  status.levels.split = objects_->split() == PROFD_SPLIT_RUN_DELAY ? "run_delay" : "wake-up hooks";
  status.levels.snapshot =
      objects_->snapshot_missing().empty() ? "sleepable iterator" : objects_->snapshot_missing();
  status.hooks_attached = sessions_.has_switch_hooks();
  status.levels.observers = sessions_.DescribeObservers();
  status.levels.on_cpu_clock =
      on_cpu_events_.clock() == session::OnCpuClock::kCpuClock ? "cpu-clock" : "cycles";
  status.levels.counters = pmu_events_.Describe();
  status.online_cpus = online ? static_cast<std::uint32_t>(online->size()) : 0;
  status.counters = ReadCounters();
  status.switches = status.counters[PROFD_COUNTER_SWITCHES];
  status.bpf_cost_ns = status.counters[PROFD_COUNTER_COST_NS];
  status.map_bytes = MapBytes();
  status.levels.missing_capabilities = features_.missing_capabilities;
  const std::uint64_t now_ns = clock_.MonotonicNs();
  for (const BeyondShare& beyond : BeyondShares()) {
    // Many waits are no trouble: their sums stay right.
    const bool recent = beyond.last_ns + kInStatusNs >= now_ns;
    if (recent && beyond.key.kind != PROFD_SHARE_WAITS)
      status.beyond_share.push_back(Describe(beyond));
  }
  std::ranges::sort(status.beyond_share);
  return status;
}

std::vector<BeyondShare> BpfSource::BeyondShares() const {
  std::vector<BeyondShare> all = ReadBeyondShares(objects_->shares_fd());
  std::ranges::move(backfill_.ProcessesBeyondShare(), std::back_inserter(all));
  std::ranges::move(sessions_.BeyondShares(), std::back_inserter(all));
  if (other_shares_) std::ranges::move(other_shares_(), std::back_inserter(all));
  return all;
}

std::string BpfSource::Describe(const BeyondShare& beyond) const {
  const auto kind = static_cast<profd_share_kind>(beyond.key.kind);
  const std::string id = std::to_string(beyond.key.id);
  if (wire::IsOfUser(kind)) {
    const std::string user = users_.NameOf(beyond.key.id);
    return "user " + id + (user.empty() ? user : " (" + user + ")") + ": " +
           wire::Consequence(kind);
  }
  auto name = proc_.Read(id + "/comm");
  if (name && name->ends_with('\n')) name->pop_back();
  return "process " + id + (name ? " (" + *name + ")" : std::string()) + ": " +
         wire::Consequence(kind);
}

}  // namespace profd::source
