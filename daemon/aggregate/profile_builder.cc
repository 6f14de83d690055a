#include "daemon/aggregate/profile_builder.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "bpf/shared/points.h"
#include "daemon/aggregate/counter_report.h"
#include "daemon/aggregate/process_labels.h"
#include "daemon/aggregate/profile_assembly.h"
#include "daemon/aggregate/weights/weights.h"
#include "daemon/process/cgroup_names.h"
#include "daemon/session/session_control.h"
#include "daemon/source/probe/hook_levels.h"
#include "daemon/wire/event_names.h"

namespace profd::aggregate {
namespace {

using process::Sample;
using process::State;
using process::WaitReason;

// The blocked and the runnable part of an off-CPU sample of a recording in which threads have had
// sampling points of their own are subsampled independently.
constexpr std::uint32_t kBlockedSalt = 1;
constexpr std::uint32_t kRunnableSalt = 2;

std::uint64_t TotalWeight(const Points& points) {
  if (points.count == 0) return 0;
  return std::min(points.period_ns, kMaxWeightNs / points.count) * points.count;
}

constexpr std::size_t kMaxPeriodChanges = 1'000;  // listed in one profile
constexpr std::size_t kMaxRefusals = 64;          // listed by name in one profile

// Names who has reported more than a share: users, and the processes that the profile shows.
void NameBeyondShare(Profile& profile, const std::vector<wire::BeyondShareEvent>& all) {
  for (const wire::BeyondShareEvent& beyond : all) {
    const std::string consequence = std::string(": ") + wire::Consequence(beyond.kind);
    const auto add = [&](const std::string& who) {
      profile.counters.push_back({"beyond_share", who + consequence, beyond.count});
    };
    if (wire::IsOfUser(beyond.kind)) {
      add("UID " + std::to_string(beyond.uid));
      continue;
    }
    // The youngest one of this number: shares do not outlive their process for long.
    const ProfileProcess* process = nullptr;
    for (const ProfileProcess& one : profile.processes)
      if (one.key.pid == beyond.header.process.pid &&
          (process == nullptr || one.key.start_ns > process->key.start_ns))
        process = &one;
    if (process != nullptr)
      add("PID " + std::to_string(process->shown_pid) + " (" + process->comm + ")");
  }
}

// Lists the processes whose Python frames are not shown, with the reason.
void AddRefusals(Profile& profile) {
  std::vector<std::uint64_t> samples(profile.processes.size());
  for (const ProfileSample& sample : profile.samples)
    samples[profile.threads[sample.thread].process] += sample.count;
  std::size_t refused = 0;
  std::uint64_t more = 0;
  for (std::size_t i = 0; i < profile.processes.size(); ++i) {
    const ProfileProcess& process = profile.processes[i];
    if (!process.interpreter || process.interpreter->refused.empty()) continue;
    if (++refused > kMaxRefusals) {
      more += samples[i];
      continue;
    }
    profile.counters.push_back({"python_refused",
                                "python: PID " + std::to_string(process.shown_pid) + " (" +
                                    process.comm + "): " + process.interpreter->refused,
                                samples[i]});
  }
  if (more != 0)
    profile.counters.push_back({"python_refused", "samples of more such Python processes", more});
}

}  // namespace

ProfileBuilder::ProfileBuilder(wire::SessionEvent start, ProfileOrigin origin, Limits limits)
    : start_(std::move(start)),
      origin_(std::move(origin)),
      limits_(limits),
      stacks_(limits.nodes),
      observed_(start_.epoch_ns, start_.off_cpu_period_ns) {
  if ((start_.mode & PROFD_SESSION_WAKERS) != 0) waits_.emplace(limits.parts);
  if ((start_.mode & PROFD_SESSION_SWITCHES) != 0) switches_.emplace();
  if (CountersOf(start_.mode).counted != 0) counts_.emplace();
}

void ProfileBuilder::CountPython(const process::Sample& sample) {
  if (sample.interpreter) interpreters_[sample.process] = sample.interpreter;
  if ((sample.python_flags & PROFD_PYTHON_THREAD) == 0) return;
  ++python_stacks_;
  if (sample.merge_failed) ++python_not_merged_;
  if ((sample.python_flags & (PROFD_PYTHON_TRUNCATED | PROFD_PYTHON_FAULT)) != 0) ++python_cut_;
}

bool ProfileBuilder::LogWaits(const symbolize::SymbolizedSample& symbolized) {
  const Sample& sample = symbolized.sample;
  const std::uint64_t session = std::uint64_t{1} << start_.session;
  const bool followed = (sample.followed_sessions & session) != 0;
  if (sample.wake_up) {
    if (waits_ && sample.time_ns >= start_.epoch_ns)
      waits_->AddWaker(sample, stacks_.Intern(symbolized.frames), session);
    return false;
  }
  if (!waits_ || sample.observation || sample.time_ns < start_.epoch_ns) return !followed;
  if (sample.snapshot && sample.state != State::kBlocked) return !followed;
  const StackTree::NodeId node = stacks_.Intern(symbolized.frames);
  if (sample.state == State::kOnCpu)
    waits_->AddRun(sample, node);
  else
    waits_->AddWait(sample, node);
  return !followed;
}

void ProfileBuilder::AddSample(const symbolize::SymbolizedSample& symbolized) {
  const Sample& sample = symbolized.sample;
  if (!LogWaits(symbolized)) return;
  const bool on_cpu = sample.state == State::kOnCpu;
  if (!((on_cpu ? PROFD_SESSION_ON_CPU : PROFD_SESSION_OFF_CPU) & start_.mode)) return;
  if (!on_cpu && sample.observation.has_value() != is_observed()) return;
  // A dump of another session reads runnable and running threads, too. They have no open wait.
  if (sample.snapshot && sample.state != State::kBlocked) return;
  // The threads join a session shortly before its exact start, so intervals that ended before it
  // and stacks that were read before it arrive, too. An observed stack can grow after it.
  if (sample.time_ns < start_.epoch_ns && !sample.observation) return;

  CountPython(sample);
  SamplePart part;
  part.stack_flags = sample.stack_flags;
  part.gil = sample.gil;
  part.gil_certain = (sample.python_flags & PROFD_PYTHON_PROCESS) != 0;
  part.begin_ns = part.end_ns = sample.time_ns;
  if (sample.observation) return AddObserved(symbolized, part);
  part.count = 1;
  const SubsampleKey key{sample.time_ns, sample.thread.tid, start_.session, 0};
  if (on_cpu) {
    const std::uint64_t effective_ns =
        sample.background ? effective_background_on_cpu_ns_ : effective_on_cpu_ns_;
    part.weight_ns = std::min(
        kMaxWeightNs, SubsampleOnCpu(sample.period_ns, effective_ns, start_.on_cpu_period_ns, key));
    if (part.weight_ns != 0) Store(part, symbolized);
    return;
  }
  // An interval without length has no weight, and would look like an on-CPU sample later.
  if (sample.begin_ns < sample.time_ns) AddOffCpu(symbolized, part, key);
}

void ProfileBuilder::AddOffCpu(const symbolize::SymbolizedSample& symbolized, SamplePart part,
                               SubsampleKey key) {
  const Sample& sample = symbolized.sample;
  part.begin_ns = sample.begin_ns;
  if (sample.snapshot) {
    // The wait is not over, so it has no sampling points yet. Its weight is its exact time inside
    // the session, which is known at the end.
    part.state = State::kBlocked;
    part.wait = sample.wait;
    part.snapshot = true;
    Store(part, symbolized);
    return;
  }
  // The runnable time comes from another counter than the interval, and may be a little too long.
  const std::uint64_t woken_ns =
      sample.time_ns - std::min(sample.runnable_ns, sample.time_ns - sample.begin_ns);
  const auto select = [&](std::uint32_t count, const Window& in, std::uint32_t salt) {
    const Points taken{count, sample.period_ns};
    if (point_seed_ != 0) {
      return SelectPoints(taken, start_.off_cpu_period_ns, in.begin_ns, in.end_ns,
                          {point_seed_, sample.halvings});
    }
    key.salt = salt;
    return SubsamplePoints(taken, start_.off_cpu_period_ns, key);
  };
  if (const auto points = select(sample.blocked_points, {sample.begin_ns, woken_ns}, kBlockedSalt);
      points.count != 0 && woken_ns > sample.begin_ns) {
    part.end_ns = woken_ns;
    part.weight_ns = TotalWeight(points);
    part.count = points.count;
    part.state = State::kBlocked;
    part.wait = sample.wait;
    Store(part, symbolized);
  }
  if (const auto points = select(sample.runnable_points, {woken_ns, sample.time_ns}, kRunnableSalt);
      points.count != 0 && sample.time_ns > woken_ns) {
    part.begin_ns = woken_ns;
    part.end_ns = sample.time_ns;
    part.weight_ns = TotalWeight(points);
    part.count = points.count;
    part.state = State::kRunnable;
    part.wait = WaitReason::kNone;
    Store(part, symbolized);
  }
}

void ProfileBuilder::AddObserved(const symbolize::SymbolizedSample& symbolized, SamplePart part) {
  const Sample& sample = symbolized.sample;
  part.state = sample.state;
  part.wait = sample.wait;
  if (sample.time_ns >= start_.epoch_ns) {
    part.weight_ns = std::min(kMaxWeightNs, sample.period_ns);
    part.count = 1;
  }
  const std::uint32_t thread = ThreadIndex(sample.thread, sample.process);
  if (thread == kNoThread) {
    ++parts_dropped_;
    return;
  }
  std::optional<std::uint32_t> kept;
  if (Store(part, symbolized)) kept = static_cast<std::uint32_t>(parts_.size() - 1);
  observed_.OnSample(thread, sample, kept, parts_);
}

bool ProfileBuilder::Store(SamplePart part, const symbolize::SymbolizedSample& symbolized) {
  if (parts_.size() >= limits_.parts) {
    ++parts_dropped_;
    return false;
  }
  part.thread = ThreadIndex(symbolized.sample.thread, symbolized.sample.process);
  if (part.thread == kNoThread) {
    ++parts_dropped_;
    return false;
  }
  if (!part.snapshot && !is_observed()) threads_[part.thread].OnSeen(symbolized.sample.cpu);
  // The stack of a thread that has moved is not known, and its one frame is never shown.
  if ((part.stack_flags & PROFD_STACK_MOVED) == 0) part.node = stacks_.Intern(symbolized.frames);
  parts_.push_back(part);
  labels_.SetPart(parts_.size() - 1, labels_.Intern(symbolized.sample));
  if ((start_.mode & PROFD_SESSION_BACKGROUND) == 0 && part.state == process::State::kOnCpu) {
    part_cpus_.resize(parts_.size());
    part_cpus_.back() = {static_cast<std::uint16_t>(symbolized.sample.cpu + 1),
                         symbolized.sample.sibling};
  }
  if (counts_ && symbolized.sample.counts)
    counts_->AddPart(*symbolized.sample.counts, parts_.size() - 1);
  samples_ += part.count;
  return true;
}

void ProfileBuilder::StoreFrom(const ProfileBuilder& before, SamplePart part,
                               std::uint32_t thread) {
  // Nodes are numbers of one tree; the stack needs a node in the tree of this session.
  std::vector<symbolize::FrameId> frames;
  for (auto node = part.node; node != 0; node = before.stacks_.At(node).parent)
    frames.push_back(before.stacks_.At(node).frame);
  part.node = stacks_.Intern(frames);
  part.thread = thread;
  parts_.push_back(part);
}

std::uint32_t ProfileBuilder::ThreadIndex(const ThreadKey& key, const ProcessKey& process) {
  if (const auto found = thread_index_.find(key); found != thread_index_.end())
    return found->second;
  if (threads_.size() >= limits_.threads) {
    ++threads_dropped_;
    return kNoThread;
  }
  const auto index = static_cast<std::uint32_t>(threads_.size());
  threads_.emplace_back(key, process);
  thread_index_.emplace(key, index);
  return index;
}

template <typename Change>
std::uint32_t ProfileBuilder::Update(const wire::EventHeader& header, const Change& change) {
  const auto index = ThreadIndex(header.thread, header.process);
  if (index == kNoThread) return index;
  ThreadHistory& history = threads_[index];
  const bool was_alive = history.alive();
  change(history);
  had_threads_ = true;
  if (history.alive() && !was_alive) ++live_threads_;
  if (!history.alive() && was_alive) --live_threads_;
  return index;
}

void ProfileBuilder::AddClock(const wire::ClockEvent& event) {
  // The thread joined the session, and ended before the exact start.
  if (event.end && event.header.time_ns < start_.epoch_ns) return;
  if (event.observation.has_value() != is_observed()) return;
  const auto known = thread_index_.find(event.header.thread);
  // Of a thread that had ended before the exact start.
  if (event.freed && (known == thread_index_.end() || threads_[known->second].alive())) return;
  // The thread left the session and is back, with a clock that does not cover the time between. Two
  // histories under one key keep both stays exact.
  if (known != thread_index_.end() && threads_[known->second].RejoinsWith(event))
    thread_index_.erase(known);
  const auto index = Update(event.header, [&](ThreadHistory& history) { history.OnClock(event); });
  if (waits_)
    waits_->OnClock(event.header.thread, event.header.process,
                    {event.header.time_ns, event.number, event.end,
                     event.state == PROFD_STATE_BLOCKED ? event.since_ns : 0, event.own_tid});
  if (event.observation && index != kNoThread) observed_.OnClock(index, event, parts_);
}

void ProfileBuilder::AddFork(const wire::ForkEvent& event) {
  // The clocks of all threads that live are read at the start. A thread that died before it must
  // not get an entry: its exit is not counted either, so it would count as alive for ever.
  if (event.header.time_ns < start_.epoch_ns) return;
  Update(event.header, [&](ThreadHistory& history) { history.OnFork(event); });
  if (waits_)
    waits_->OnClock(event.header.thread, event.header.process, {event.header.time_ns, 0, false, 0});
}

void ProfileBuilder::AddExit(const wire::ExitEvent& event) {
  if (event.header.time_ns < start_.epoch_ns) return;
  Update(event.header, [&](ThreadHistory& history) { history.OnExit(event); });
  if (event.last_thread) process_exits_[event.header.process] = event.header.time_ns;
}

void ProfileBuilder::AddExec(const wire::ExecEvent& event) {
  const auto& header = event.header;
  // The leader itself has executed the program: no identity changes.
  if (event.old_tid == 0 || event.old_tid == header.thread.tid) return;
  // The executing thread becomes the leader and takes the leader's tid and start time. Its task,
  // and so its clock, stays its own. The old leader has ended, and its history keeps the old
  // identity.
  const auto executing =
      std::find_if(thread_index_.begin(), thread_index_.end(), [&](const auto& entry) {
        return entry.first.tid == event.old_tid && threads_[entry.second].alive() &&
               threads_[entry.second].process() == header.process;
      });
  if (executing == thread_index_.end()) return;
  const auto index = executing->second;
  thread_index_.erase(executing);
  threads_[index].Rename(header.thread, header.process);
  thread_index_[header.thread] = index;
}

void ProfileBuilder::AddBeyondShare(const wire::BeyondShareEvent& event) {
  const auto known = std::ranges::find_if(beyond_share_, [&](const wire::BeyondShareEvent& one) {
    return one.kind == event.kind && one.uid == event.uid &&
           one.header.process.pid == event.header.process.pid;
  });
  if (known != beyond_share_.end())
    known->count = std::max(known->count, event.count);
  else if (beyond_share_.size() < kMaxBeyondShare)
    beyond_share_.push_back(event);
}

void ProfileBuilder::AddStep(const wire::StepEvent& event) {
  if (event.header.time_ns < start_.epoch_ns) return;
  const std::uint32_t thread = ThreadIndex(event.header.thread, event.header.process);
  if (thread != kNoThread) steps_.Add(event, thread);
}

void ProfileBuilder::AddSwitch(const wire::SwitchEvent& event) {
  if (!switches_ || event.header.time_ns < start_.epoch_ns) return;
  const std::uint32_t thread = ThreadIndex(event.header.thread, event.header.process);
  if (thread != kNoThread) switches_->Add(event, thread);
}

void ProfileBuilder::AddWake(const wire::WakeEvent& event) {
  if (switches_) switches_->Add(event);
}

void ProfileBuilder::AddPmu(const wire::PmuEvent& event) {
  if (!counts_) return;
  const std::uint32_t thread = ThreadIndex(event.header.thread, event.header.process);
  if (thread != kNoThread) counts_->Add(event, thread);
}

void ProfileBuilder::AddProcess(const process::ProcessInfoRef& info) {
  if (!info) return;
  processes_[info->key] = info;
  // Looked for now, to be known at the end.
  if (origin_.containers != nullptr)
    if (const auto id = process::ContainerOf(info->cgroup); !id.empty())
      (void)origin_.containers->Find(id);
}

void ProfileBuilder::UpdateProcess(const process::ProcessInfoRef& info) {
  if (!info || !processes_.contains(info->key)) return;
  AddProcess(info);
  labels_.Update(info->key, info->label_keys);
}

void ProfileBuilder::ContinueFrom(const ProfileBuilder& before, const wire::SessionEvent& end) {
  if (is_observed())
    TakeObserved(before);
  else
    TakeOpenWaits(before, end);
  // Samples bring the interpreter of their process. A process that only waits has no sample here.
  for (const auto& [key, interpreter] : before.interpreters_)
    if (processes_.contains(key)) interpreters_.try_emplace(key, interpreter);
}

void ProfileBuilder::TakeOpenWaits(const ProfileBuilder& before, const wire::SessionEvent& end) {
  const Instant from{before.start_.epoch, before.start_.epoch_ns};
  const Instant to{end.epoch, end.epoch_ns};
  std::vector<const SamplePart*> open(before.threads_.size());
  // The session before may itself have taken over a snapshot, and may have read a newer one of the
  // same thread. The newer one wins: it was read in the wait that lasts.
  for (const SamplePart& part : before.parts_) {
    if (!part.snapshot) continue;
    const SamplePart*& latest = open[part.thread];
    if (latest == nullptr || part.begin_ns > latest->begin_ns || !part.reported_before)
      latest = &part;
  }
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (open[i] == nullptr || parts_.size() >= limits_.parts) continue;
    const ThreadHistory& history = before.threads_[i];
    // The wait of the snapshot was over before the end: its stack says nothing about this session.
    if (history.Resolve(from, to).blocked_since_ns != open[i]->begin_ns) continue;
    const std::uint32_t thread = ThreadIndex(history.key(), history.process());
    if (thread == kNoThread) continue;
    SamplePart part = *open[i];
    part.reported_before = true;
    StoreFrom(before, part, thread);
    if (waits_ && before.waits_)
      waits_->TakeOpen(*before.waits_, history.key(), part.begin_ns, parts_.back().node);
  }
}

void ProfileBuilder::TakeObserved(const ProfileBuilder& before) {
  const auto& entries = before.observed_.entries();
  std::vector<std::uint32_t> threads(before.threads_.size(), kNoThread);
  for (std::size_t i = 0; i < threads.size(); ++i)
    if (const auto known = thread_index_.find(before.threads_[i].key());
        known != thread_index_.end())
      threads[i] = known->second;
  std::vector<const ObservedStacks::Entry*> found(before.threads_.size());
  for (const auto& entry : entries) {
    const std::uint32_t thread = before.parts_[entry.part].thread;
    if (threads[thread] == kNoThread || entry.number == 0 ||
        entry.number != observed_.Missing(threads[thread]))
      continue;
    // A sample of a thread that has moved can have the number of the stack before it.
    const auto*& first = found[thread];
    if (first == nullptr || (before.parts_[first->part].stack_flags & PROFD_STACK_MOVED) != 0)
      first = &entry;
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    // A thread that has left and joined again occurs twice.
    if (found[i] == nullptr || observed_.Missing(threads[i]) != found[i]->number) continue;
    if (parts_.size() >= limits_.parts) {
      ++parts_dropped_;
      continue;
    }
    SamplePart part = before.parts_[found[i]->part];
    part.weight_ns = part.count = 0;
    StoreFrom(before, part, threads[i]);
    ObservedStacks::Entry entry = *found[i];
    entry.part = static_cast<std::uint32_t>(parts_.size() - 1);
    observed_.AddMissing(entry, parts_);
  }
}

void ProfileBuilder::SetCounters(const std::vector<std::uint64_t>& values) {
  if (first_counters_.empty()) first_counters_ = values;
  last_counters_ = values;
}

void ProfileBuilder::SetEffectivePeriods(const wire::PeriodsEvent& event) {
  effective_on_cpu_ns_ = event.on_cpu_period_ns;
  effective_background_on_cpu_ns_ = event.background_on_cpu_period_ns;
  point_seed_ = event.point_seed;
  const bool background = (start_.mode & PROFD_SESSION_BACKGROUND) != 0;
  // The history has threads of requested sessions, too, which are sampled at their points.
  const std::uint64_t off_cpu_ns =
      background ? std::max(event.off_cpu_period_ns, event.background_off_cpu_period_ns)
                 : event.off_cpu_period_ns;
  if (waits_ && point_seed_ != 0 && off_cpu_ns != 0)
    waits_->SetLevel(event.header.time_ns, point_seed_, profd_level_not_below(off_cpu_ns));
  // A finer period is that of another session. This one subsamples down to its own, so for its
  // profile the requested period holds.
  const auto coarser = [this](std::uint32_t kind, std::uint64_t requested_ns, std::uint64_t ns) {
    return (start_.mode & kind) != 0 ? std::max(requested_ns, ns) : 0;
  };
  const PeriodChange change{
      std::max(event.header.time_ns, start_.epoch_ns),
      coarser(PROFD_SESSION_ON_CPU, start_.on_cpu_period_ns,
              background ? event.background_on_cpu_period_ns : event.on_cpu_period_ns),
      coarser(PROFD_SESSION_OFF_CPU, start_.off_cpu_period_ns,
              background ? event.background_off_cpu_period_ns : event.off_cpu_period_ns)};
  if (!periods_.empty() && periods_.back().on_cpu_period_ns == change.on_cpu_period_ns &&
      periods_.back().off_cpu_period_ns == change.off_cpu_period_ns)
    return;
  if (periods_.size() < kMaxPeriodChanges) periods_.push_back(change);
}

void ProfileBuilder::AddDropped(std::string_view name, std::string_view text, std::uint64_t count) {
  if (count == 0) return;
  for (auto& known : dropped_)
    if (known.name == name) {
      known.count += count;
      return;
    }
  dropped_.push_back(NamedCount{std::string(name), std::string(text), count});
}

std::uint64_t ProfileBuilder::lost() const { return LostBetween(first_counters_, last_counters_); }

std::size_t ProfileBuilder::bytes() const {
  // Typical sizes of a thread's readings and of a process's texts.
  constexpr std::size_t kThreadBytes = 1024;
  constexpr std::size_t kProcessBytes = 512;
  return parts_.capacity() * sizeof(SamplePart) + labels_.bytes() + observed_.bytes() +
         stacks_.bytes() + (waits_ ? waits_->bytes() : 0) + steps_.bytes() +
         part_cpus_.capacity() * sizeof(PartCpu) + (switches_ ? switches_->bytes() : 0) +
         (counts_ ? counts_->bytes() : 0) + threads_.size() * kThreadBytes +
         processes_.size() * kProcessBytes;
}

void ProfileBuilder::AddAllRefusals(Profile& profile) const {
  AddRefusals(profile);
  if (labels_.refused() != 0)
    profile.counters.push_back({"labels_refused",
                                "samples without their labels: too many different ones",
                                labels_.refused()});
  std::size_t named = 0;
  for (const ProfileProcess& process : profile.processes) {
    const auto info = processes_.find(process.key);
    if (info == processes_.end() || !info->second->label_keys) continue;
    const std::string& why = info->second->label_keys->refused;
    if (why.empty() || ++named > kMaxRefusals) continue;
    profile.counters.push_back(
        {"labels_unread",
         "labels of PID " + std::to_string(process.shown_pid) + " (" + process.comm + "): " + why,
         1});
  }
}

void ProfileBuilder::DescribeSession(const wire::SessionEvent& end, Profile& profile) const {
  profile.target = start_.target;
  profile.start_ns = start_.epoch_ns;
  profile.end_ns = end.epoch_ns;
  profile.start_unix_ns = origin_.boot_unix_ns + start_.epoch_ns;
  profile.on_cpu = (start_.mode & PROFD_SESSION_ON_CPU) != 0;
  profile.off_cpu = (start_.mode & PROFD_SESSION_OFF_CPU) != 0;
  profile.on_cpu_period_ns = start_.on_cpu_period_ns;
  profile.off_cpu_period_ns = start_.off_cpu_period_ns;
  for (const PeriodChange& change : periods_)
    if (change.time_ns < end.epoch_ns) profile.periods.push_back(change);
  // The budget can raise the periods for the whole session: then one change is all there is to say.
  const auto is_raised = [this](const PeriodChange& change) {
    return change.on_cpu_period_ns > start_.on_cpu_period_ns ||
           change.off_cpu_period_ns > start_.off_cpu_period_ns;
  };
  if (std::ranges::none_of(profile.periods, is_raised)) profile.periods.clear();
  profile.host = origin_.host;
  profile.kernel = origin_.kernel;
  profile.profd_version = origin_.profd_version;
  profile.cpus = origin_.cpus;
  profile.no_hardware_counters = origin_.no_hardware_counters;
  profile.counters_open = CountersOf(start_.mode);
  profile.cpu_places = origin_.cpu_places;
  profile.hook = source::HookName(start_.hook);
  profile.cost.daemon_cpu_ns =
      end.own_cpu_ns > start_.own_cpu_ns ? end.own_cpu_ns - start_.own_cpu_ns : 0;
  profile.cost.bpf_ns =
      end.bpf_cost_ns > start_.bpf_cost_ns ? end.bpf_cost_ns - start_.bpf_cost_ns : 0;
}

Profile ProfileBuilder::Build(const wire::SessionEvent& end, const FrameLookup& frames) const {
  std::unordered_set<std::uint32_t> named;
  // Of a target that cannot be read, nothing is named.
  if (const auto target = session::ParseTarget(start_.target))
    named.insert(target->ids.begin(), target->ids.end());
  const AssemblyInput input{parts_,
                            labels_,
                            observed_,
                            threads_,
                            stacks_,
                            processes_,
                            process_exits_,
                            interpreters_,
                            frames,
                            named,
                            origin_.innermost_pids,
                            point_seed_,
                            waits_ ? &*waits_ : nullptr,
                            &steps_.steps(),
                            switches_ ? &*switches_ : nullptr,
                            part_cpus_,
                            counts_ ? &*counts_ : nullptr};
  PeriodChange longest{0, start_.on_cpu_period_ns, start_.off_cpu_period_ns};
  for (const PeriodChange& change : periods_) {
    longest.on_cpu_period_ns = std::max(longest.on_cpu_period_ns, change.on_cpu_period_ns);
    longest.off_cpu_period_ns = std::max(longest.off_cpu_period_ns, change.off_cpu_period_ns);
  }
  Profile profile = ProfileAssembly(start_, end, longest, input).Run();
  for (ProfileProcess& process : profile.processes) {
    const auto info = processes_.find(process.key);
    GiveLabels(info == processes_.end() ? nullptr : info->second.get(), origin_.containers,
               process);
  }
  // Threads that the session does not have may have run, too.
  if (threads_dropped_ != 0 || !beyond_share_.empty())
    for (ProfileProcess& process : profile.processes) process.concurrency.reset();
  DescribeSession(end, profile);

  auto report = DescribeCounters(first_counters_, last_counters_);
  profile.lost = std::move(report.lost);
  profile.counters = std::move(report.counters);
  profile.dropped = std::move(report.dropped);
  profile.dropped.insert(profile.dropped.end(), dropped_.begin(), dropped_.end());
  const auto note = [&](std::string_view name, std::string_view text, std::uint64_t count) {
    if (count != 0)
      profile.counters.push_back(NamedCount{std::string(name), std::string(text), count});
  };
  note("python_stacks", "stacks of threads with Python frames", python_stacks_);
  note("python_not_merged",
       "stacks with merge=failed: the position of the Python frames among the native ones is "
       "unknown",
       python_not_merged_);
  note("python_cut", "stacks whose Python part is cut: too deep, or unreadable memory",
       python_cut_);
  AddAllRefusals(profile);
  NameBeyondShare(profile, beyond_share_);
  const auto drop = [&](std::string_view name, std::string_view text, std::uint64_t count) {
    if (count != 0)
      profile.dropped.push_back(NamedCount{std::string(name), std::string(text), count});
  };
  drop("session_full", "samples beyond the limit of one session", parts_dropped_);
  drop("steps_full", "step events beyond the limit of one session", steps_.dropped());
  if (switches_)
    drop("switches_full", "switches and wake-ups beyond the limit of one session",
         switches_->dropped());
  drop("threads_full", "events of threads beyond the limit of one session", threads_dropped_);
  drop("stacks_cut", "stacks cut: too many distinct stacks in one session", stacks_.cut());
  return profile;
}

}  // namespace profd::aggregate
