#include "daemon/aggregate/profile_assembly.h"

#include <algorithm>
#include <array>
#include <limits>
#include <ranges>
#include <tuple>
#include <utility>

#include "bpf/shared/control.h"
#include "bpf/shared/points.h"
#include "daemon/aggregate/concurrency/concurrency_count.h"
#include "daemon/aggregate/counts/count_scaling.h"
#include "daemon/aggregate/moved_stacks.h"
#include "daemon/aggregate/process_labels.h"
#include "daemon/aggregate/thread_groups.h"
#include "daemon/aggregate/weights/weights.h"
#include "daemon/base/mul_div.h"
#include "daemon/base/proc/maps_parser.h"

namespace profd::aggregate {
namespace {

using process::Gil;
using process::State;
using process::WaitReason;

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// How many samples a thread can expect that is scaled together with others: fewer in all, ...
constexpr double kFewSamples = 10;
// ... or fewer on a CPU: they are up to one and a half periods apart, so it may have none, however
// long it waits ...
constexpr double kUncertainSamples = 2;
// ... unless it can expect as many in all: of a state that is shorter than a period, a quarter of a
// period at most has no sample on average.
constexpr double kManySamples = 100;

constexpr std::uint32_t kNotSampledIndex = 0;
constexpr std::uint32_t kStillBlockedIndex = 1;
constexpr std::array kPseudoNames{kNotSampled, kStillBlocked};

// How well a part shows an open interval. A snapshot of this session is best. A snapshot of an
// earlier session shows the same wait. A sample from after the end is last: its stack was taken
// when the wait was over.
int Rank(const SamplePart& part) {
  if (!part.snapshot) return 0;
  return part.reported_before ? 1 : 2;
}

}  // namespace

Profile ProfileAssembly::Run() {
  AddThreads();
  const auto groups = GroupParts();
  FindPython(groups);
  for (std::uint32_t thread = 0; thread < groups.size(); ++thread) {
    ClipParts(thread, groups[thread]);
    if (is_observed()) AddObserved(thread, groups[thread]);
    if (paths_) paths_->CountWakeUps(profile_.threads[thread].key, thread, lives_[thread].window);
  }
  // Steps, switches and concurrency are of single threads, so they come before threads become rows,
  // which have other indices. Edges are weighed by row, and name samples by their index: they come
  // between that and Renumber, which sorts the samples.
  AddSteps();
  AddSwitches();
  CountConcurrency();
  GroupThreads();
  // The history sums its samples up, and knows of no edges.
  if ((mode_ & PROFD_SESSION_BACKGROUND) == 0 && input_.point_seed != 0)
    FindEdges(profile_, waits_, sampled_, input_.point_seed);
  ScaleThreads();
  Renumber();
  NumberLabels();
  FindBuildIds();
  return std::move(profile_);
}

void ProfileAssembly::AddThreads() {
  struct Living {
    std::uint32_t input = 0;
    Lifetime life;
  };
  std::vector<Living> living;
  const std::vector<bool> present = FindPresent();
  for (std::uint32_t i = 0; i < input_.threads.size(); ++i) {
    if (!present[i]) continue;
    const auto life = input_.threads[i].Resolve(start_, end_);
    // A thread that was gone before the start, or that came after the end, has no time here.
    if (life.window.Length() != 0) living.push_back({i, life});
  }
  // The input is in the order in which events came, which differs from run to run. One key can
  // occur several times, for a thread that left the session and joined again: the begin decides.
  const auto order = [this](const Living& item) {
    const auto& history = input_.threads[item.input];
    return std::tuple(history.process(), history.key(), item.life.window.begin_ns);
  };
  std::stable_sort(living.begin(), living.end(),
                   [&](const Living& a, const Living& b) { return order(a) < order(b); });

  thread_of_.assign(input_.threads.size(), kNone);
  for (const auto& [input, life] : living) {
    const auto& history = input_.threads[input];
    thread_of_[input] = static_cast<std::uint32_t>(profile_.threads.size());
    ProfileThread thread;
    thread.key = history.key();
    thread.process = AddProcess(history);
    // /proc names only the leader's tid in other pid namespaces. All other threads keep the tid of
    // profd's own namespace.
    const bool leader = history.key().tid == history.process().pid;
    thread.shown_tid = leader ? profile_.processes[thread.process].shown_pid : history.key().tid;
    thread.comm = history.comm().empty() ? profile_.processes[thread.process].comm : history.comm();
    thread.begin_ns = life.window.begin_ns;
    thread.end_ns = life.window.end_ns;
    thread.clock = life.clock;
    thread.began = life.began;
    thread.exited = life.exited;
    thread.clock_missing = life.clock_missing;
    thread.migrations = life.migrations;
    if (input_.counts != nullptr)
      thread.counts = input_.counts->OfThread(input, life.began, start_.epoch, end_.epoch);
    if ((mode_ & PROFD_SESSION_BACKGROUND) == 0) thread.cpus = history.cpus();
    profile_.threads.push_back(std::move(thread));
    lives_.push_back(life);
  }
}

void ProfileAssembly::AddSteps() {
  if (input_.steps == nullptr) return;
  profile_.steps.sources = input_.steps->sources;
  profile_.steps.names = input_.steps->names;
  for (StepEvent event : input_.steps->events) {
    event.thread = thread_of_[event.thread];
    if (event.thread != kNone && event.time_ns < end_.time_ns)
      profile_.steps.events.push_back(event);
  }
}

void ProfileAssembly::AddSwitches() {
  if (input_.switches == nullptr) return;
  ThreadSwitches& all = profile_.switches;
  all.recorded = true;
  for (std::uint32_t thread = 0; thread < input_.threads.size(); ++thread) {
    const std::uint32_t row = thread_of_[thread];
    if (row == kNone) continue;
    auto of = input_.switches->Of(thread, lives_[row]);
    for (ThreadSwitch& one : of.switches) one.thread = row;
    all.switches.insert(all.switches.end(), of.switches.begin(), of.switches.end());
    if (!of.complete) all.incomplete.push_back(row);
  }
  std::ranges::stable_sort(all.switches, {}, &ThreadSwitch::thread);
  std::ranges::sort(all.incomplete);
}

std::vector<bool> ProfileAssembly::FindPresent() const {
  std::vector<bool> present(input_.threads.size(), !is_observed());
  if (!is_observed()) return present;
  for (std::size_t i = 0; i < present.size(); ++i) present[i] = input_.threads[i].has_events();
  for (const SamplePart& part : input_.parts)
    if (part.weight_ns != 0) present[part.thread] = true;
  return present;
}

std::uint32_t ProfileAssembly::AddProcess(const ThreadHistory& history) {
  const auto& key = history.process();
  const auto [found, added] =
      process_of_.try_emplace(key, static_cast<std::uint32_t>(profile_.processes.size()));
  if (!added) return found->second;
  const auto info = input_.processes.find(key);
  const process::ProcessInfo* known = info == input_.processes.end() ? nullptr : info->second.get();
  ProfileProcess process = DescribeProcess(key, known, input_.innermost_pids);
  // A part of this window is from a time when it belonged to others.
  if (known != nullptr && known->owned_since_ns > start_.time_ns) process.owner.sole = false;
  // A process that exited before profd could read /proc has only the name in its thread's events.
  if (process.comm.empty()) process.comm = history.comm();
  if (const auto found_python = input_.interpreters.find(key);
      found_python != input_.interpreters.end())
    process.interpreter = found_python->second;
  const auto exit = input_.process_exits.find(key);
  // Events come late, so an exit from after the end may be known by now. It is not part of this.
  process.exited = exit != input_.process_exits.end() && exit->second <= end_.time_ns;
  profile_.processes.push_back(std::move(process));
  return found->second;
}

std::vector<std::vector<std::uint32_t>> ProfileAssembly::GroupParts() const {
  std::vector<std::vector<std::uint32_t>> groups(profile_.threads.size());
  for (std::uint32_t i = 0; i < input_.parts.size(); ++i) {
    const auto thread = thread_of_[input_.parts[i].thread];
    if (thread != kNone) groups[thread].push_back(i);
  }
  return groups;
}

void ProfileAssembly::FindPython(const std::vector<std::vector<std::uint32_t>>& groups) {
  for (const ProfileProcess& process : profile_.processes)
    python_processes_.push_back(process.interpreter != nullptr);
  for (std::uint32_t thread = 0; thread < groups.size(); ++thread) {
    bool sampled = false;
    bool stateless = true;
    for (const std::uint32_t index : groups[thread]) {
      const SamplePart& part = input_.parts[index];
      // Nothing of Python was read of a thread that has moved.
      if ((part.stack_flags & PROFD_STACK_MOVED) != 0) continue;
      sampled = true;
      // One sample without a Python thread state proves little: the thread may get one later. A
      // thread counts as stateless only if all of its samples agree.
      stateless = stateless && part.gil == Gil::kNone && part.gil_certain;
      // The BPF side knew an interpreter of the process, even if user space has not reported one.
      if (part.gil != Gil::kNone || part.gil_certain)
        python_processes_[profile_.threads[thread].process] = true;
    }
    stateless_.push_back(sampled && stateless);
  }
}

Gil ProfileAssembly::GilFor(std::uint32_t thread, const SamplePart* part) const {
  if (part != nullptr && (part->gil != Gil::kNone || part->gil_certain)) return part->gil;
  // Nothing measured says whether the thread held the GIL. "None" is only right where it cannot
  // hold one: outside Python processes, and for threads without a Python thread state.
  const bool python = python_processes_[profile_.threads[thread].process];
  return python && !stateless_[thread] ? Gil::kUnknown : Gil::kNone;
}

const SamplePart* ProfileAssembly::OpenInterval(std::uint32_t thread,
                                                std::span<const std::uint32_t> parts) const {
  const auto& life = lives_[thread];
  const SamplePart* open = nullptr;
  for (const auto index : parts) {
    const SamplePart& part = input_.parts[index];
    if (part.state != State::kBlocked) continue;
    // The wait was over before the end. A snapshot of the session before also ends earlier, but the
    // wait that it shows may go on.
    if (part.end_ns < life.window.end_ns && !part.reported_before) continue;
    // The clock says since when the thread is blocked: that identifies the wait. Without a clock,
    // only a snapshot of this session can show that the thread was still blocked.
    const bool is_open = life.clock_missing && !part.reported_before
                             ? part.snapshot && !life.exited
                             : part.begin_ns == life.blocked_since_ns;
    if (is_open && (open == nullptr || Rank(part) > Rank(*open))) open = &part;
  }
  return open;
}

ProfileSample ProfileAssembly::SampleOf(std::uint32_t thread, const SamplePart& part) const {
  ProfileSample sample;
  sample.thread = thread;
  sample.node = part.node;
  sample.state = part.state;
  sample.wait = part.wait;
  sample.count = part.count;
  sample.stack_flags = part.stack_flags;
  sample.gil = GilFor(thread, &part);
  const auto index = static_cast<std::size_t>(&part - input_.parts.data());
  sample.labels = input_.labels.OfPart(index);
  if (index < input_.part_cpus.size()) {
    sample.cpu = input_.part_cpus[index].number;
    sample.sibling = input_.part_cpus[index].sibling;
  }
  if (input_.counts != nullptr) sample.counts = input_.counts->NumberOf(index);
  return sample;
}

void ProfileAssembly::ClipParts(std::uint32_t thread, std::span<const std::uint32_t> parts) {
  const auto& life = lives_[thread];
  const SamplePart* open = OpenInterval(thread, parts);
  if ((mode_ & PROFD_SESSION_OFF_CPU) != 0) AddOpenInterval(thread, open);
  for (const auto index : parts) {
    const SamplePart& part = input_.parts[index];
    // AddOpenInterval has counted the whole open wait with its exact time; its other parts would
    // count it twice. All other snapshots show waits that have ended, and have no weight.
    const bool of_open =
        open != nullptr && part.state == State::kBlocked && part.begin_ns == open->begin_ns;
    if (part.snapshot || of_open) continue;
    if (is_observed() && part.state != State::kOnCpu) continue;  // AddObserved

    ProfileSample sample = SampleOf(thread, part);
    if (part.begin_ns == part.end_ns) {
      // An on-CPU sample is a point in time: it is inside or not, with its whole weight.
      if (!life.window.Contains(part.begin_ns)) continue;
      sample.time_ns = part.begin_ns;
      sample.raw_weight_ns = part.weight_ns;
    } else {
      const Window interval{part.begin_ns, part.end_ns};
      sample.time_ns = Intersect(interval, life.window).begin_ns;
      sample.raw_weight_ns = ClipWeight(part.weight_ns, interval, life.window);
    }
    // The interval lies outside the lifetime. A sample without weight would only add a count.
    if (sample.raw_weight_ns == 0) continue;
    if (part.begin_ns == part.end_ns)
      profile_.samples.push_back(sample);
    else
      AddWait(thread, part, sample);
  }
}

void ProfileAssembly::AddWait(std::uint32_t thread, const SamplePart& part, ProfileSample sample) {
  // A part has the number of its points only. Which they were follows from the seed.
  const std::uint64_t period_ns = part.weight_ns / std::max(part.count, 1u);
  const std::uint32_t level = profd_nearest_level(period_ns);
  const PointRun points =
      FindPoints(input_.point_seed, level, part.begin_ns, part.end_ns, part.count);
  std::vector<WaitPaths::Run> runs;
  if (paths_ && part.state == State::kBlocked)
    runs =
        paths_->RunsOf(profile_.threads[thread].key, part.begin_ns, points, lives_[thread].window);
  AddRuns(sample, runs, &points);
}

void ProfileAssembly::AddOpenInterval(std::uint32_t thread, const SamplePart* part) {
  const auto& life = lives_[thread];
  if (part == nullptr && !life.blocked_since_ns) return;
  const std::uint64_t since_ns = part != nullptr ? part->begin_ns : *life.blocked_since_ns;
  // The wait may have begun before the session, or before the thread joined it.
  const Window inside = Intersect(Window{since_ns, life.window.end_ns}, life.window);
  if (inside.Length() == 0) return;
  if (part == nullptr) {
    // The clock proves the wait although no stack of it could be read. Its time is exact, and must
    // not be spread over other stacks of the thread.
    AddPseudo({.thread = thread,
               .state = State::kBlocked,
               .wait = WaitReason::kOther,
               .gil = GilFor(thread, nullptr),
               .name = kStillBlockedIndex,
               .begin_ns = inside.begin_ns,
               .ns = inside.Length(),
               .exact = true,
               .path = paths_ ? paths_->StillWaits() : 0});
    return;
  }
  ProfileSample sample = SampleOf(thread, *part);
  sample.time_ns = inside.begin_ns;
  sample.raw_weight_ns = inside.Length();
  sample.exact = true;
  std::vector<WaitPaths::Run> runs;
  if (paths_) runs = paths_->RunsOfOpen(profile_.threads[thread].key, since_ns, inside);
  AddRuns(sample, runs, nullptr);
}

void ProfileAssembly::AddRuns(const ProfileSample& sample, std::span<const WaitPaths::Run> runs,
                              const PointRun* points) {
  const auto add = [&](const ProfileSample& one, const PointRun& of) {
    profile_.samples.push_back(one);
    if (points != nullptr)
      waits_.push_back({static_cast<std::uint32_t>(profile_.samples.size() - 1), of});
  };
  if (runs.empty()) return add(sample, points == nullptr ? PointRun{} : *points);
  // The points share the weight of the wait, the whole of it.
  std::uint64_t all = 0;
  for (const WaitPaths::Run& run : runs) all += run.count;
  std::uint64_t before = 0;
  // Differences of running sums: whatever is rounded, the parts add up to the whole.
  const auto share = [&](std::uint64_t of, std::uint64_t count) {
    return MulDiv(of, before + count, all) - MulDiv(of, before, all);
  };
  for (const WaitPaths::Run& run : runs) {
    ProfileSample part = sample;
    part.path = run.path;
    part.raw_weight_ns = share(sample.raw_weight_ns, run.count);
    const auto count = static_cast<std::uint32_t>(share(sample.count, run.count));
    part.count = sample.count == 0 ? 0 : std::max<std::uint32_t>(1, count);
    if (before != 0)
      part.time_ns = profd_point(input_.point_seed, run.points.level, run.points.first);
    before += run.count;
    add(part, run.points);
  }
}

void ProfileAssembly::AddObserved(std::uint32_t thread, std::span<const std::uint32_t> parts) {
  const Window& window = lives_[thread].window;
  const std::size_t first = profile_.samples.size();
  std::vector<PlacedWeight> moved;
  // One for each sample from `first` on.
  std::vector<PlacedWeight> whole;
  for (const auto index : parts) {
    const SamplePart& part = input_.parts[index];
    // Events come late, so samples from after the end may be known by now.
    if (part.state == State::kOnCpu || part.weight_ns == 0 || part.begin_ns >= end_.time_ns)
      continue;
    const ObservedStacks::Entry& entry = input_.observed.EntryOf(index);
    // Periods of visits differ, and each visit is one sample.
    const std::uint64_t period_ns = std::max<std::uint64_t>(entry.period_ns, 1);
    const std::uint64_t visits = std::max<std::uint64_t>(part.weight_ns / period_ns, 1);
    const PlacedWeight placed{part.state, entry.syscall, entry.place, part.weight_ns, visits};
    if ((part.stack_flags & PROFD_STACK_MOVED) != 0) {
      // Without registers nothing says where it was: scaling gives its time to all of its state.
      if ((part.stack_flags & PROFD_STACK_NO_USER) == 0) moved.push_back(placed);
      continue;
    }
    whole.push_back(placed);
    ProfileSample sample = SampleOf(thread, part);
    // All of its weight was counted in the session, though the stack may have been read before it.
    sample.time_ns = std::clamp(part.begin_ns, window.begin_ns, window.end_ns - 1);
    profile_.samples.push_back(sample);
    const std::uint32_t level = profd_nearest_level(period_ns);
    const std::uint64_t period = sample.time_ns >> level;
    waits_.push_back({static_cast<std::uint32_t>(profile_.samples.size() - 1),
                      {.row = 0, .level = level, .first = period, .last = period + visits - 1}});
  }
  ShareMoved(moved, whole);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    ProfileSample& sample = profile_.samples[first + i];
    sample.raw_weight_ns = whole[i].weight_ns;
    sample.count = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(whole[i].count, std::numeric_limits<std::uint32_t>::max()));
  }
}

void ProfileAssembly::CountConcurrency() {
  // A point says something of a thread only where every interval off the CPU is known.
  if (input_.waits == nullptr || input_.point_seed == 0 || is_observed() ||
      (mode_ & PROFD_SESSION_BACKGROUND) != 0)
    return;
  // The finest level of which all intervals have the points.
  const std::uint32_t level =
      input_.waits->CoarsestLevel(start_.time_ns, std::numeric_limits<std::uint64_t>::max());
  if (level == 0) return;
  std::vector<ConcurrencyCount> counts(profile_.processes.size(),
                                       {*input_.waits, input_.point_seed, level});
  for (std::size_t i = 0; i < profile_.threads.size(); ++i) {
    const Lifetime& life = lives_[i];
    const bool blocked = life.blocked_since_ns.has_value();
    counts[profile_.threads[i].process].Add(
        {.key = profile_.threads[i].key,
         .life = life.window,
         .off_since_ns = blocked ? life.blocked_since_ns : life.runnable_since_ns,
         .blocked = blocked});
  }
  for (std::size_t i = 0; i < counts.size(); ++i)
    profile_.processes[i].concurrency = std::move(counts[i]).Count();
}

bool ProfileAssembly::IsNamed(const ProfileThread& thread) const {
  return input_.named.contains(thread.key.tid) || input_.named.contains(thread.shown_tid);
}

bool ProfileAssembly::IsScaledWithOthers(const ProfileThread& thread) const {
  // A session of a name has a thread from when it takes that name.
  const bool began = thread.began || thread.begin_ns > start_.time_ns;
  // Without a clock there is nothing that could be part of a sum.
  if (!began || !thread.exited || thread.clock_missing || IsNamed(thread)) return false;
  const auto expected = [this](std::uint32_t kind, std::uint64_t ns, std::uint64_t period_ns) {
    const bool sampled = (mode_ & kind) != 0 && period_ns != 0;
    return sampled ? static_cast<double>(ns) / static_cast<double>(period_ns) : 0;
  };
  const std::uint64_t on_cpu_ns = thread.clock.on_cpu_ns;
  const std::uint64_t waits_ns = ClockTotal(thread.clock) - on_cpu_ns;
  const double on_cpu = expected(PROFD_SESSION_ON_CPU, on_cpu_ns, longest_.on_cpu_period_ns);
  const double all = on_cpu + expected(PROFD_SESSION_OFF_CPU, waits_ns, longest_.off_cpu_period_ns);
  const bool uncertain = (mode_ & PROFD_SESSION_ON_CPU) != 0 && on_cpu < kUncertainSamples;
  return all < kFewSamples || (uncertain && all < kManySamples);
}

// A thread that can expect few samples gets none or too many: scaled to its own clock, the sampled
// ones would shrink, and the time of the others would have no stack. Those that are alike are
// scaled together. Whether a thread is one of them must not depend on its samples. A thread that is
// there at the start or at the end of the session keeps its row: a caller can know its number, a
// history has it again in the next window, and there are no more of them than threads at these two
// instants.
void ProfileAssembly::GroupThreads() {
  std::vector<Gil> unsampled;
  for (std::uint32_t thread = 0; thread < profile_.threads.size(); ++thread) {
    unsampled.push_back(GilFor(thread, nullptr));
    const ProfileThread& whole = profile_.threads[thread];
    sampled_.threads.push_back({whole.key, whole.begin_ns, whole.end_ns, false});
  }
  for (const ProfileSample& sample : profile_.samples) sampled_.of_sample.push_back(sample.thread);
  const auto grouped = GroupShortLived(
      profile_, [this](const ProfileThread& thread) { return IsScaledWithOthers(thread); });
  row_of_ = grouped.thread_of;
  unsampled_gil_.assign(profile_.threads.size(), Gil::kNone);
  for (std::uint32_t thread = 0; thread < unsampled.size(); ++thread) {
    const std::uint32_t now = grouped.thread_of[thread];
    if (unsampled[thread] != Gil::kNone) unsampled_gil_[now] = unsampled[thread];
    sampled_.threads[thread].grouped = profile_.threads[now].group_size != 0;
  }
}

void ProfileAssembly::ScaleThreads() {
  std::vector<std::vector<std::uint32_t>> samples(profile_.threads.size());
  for (std::uint32_t i = 0; i < profile_.samples.size(); ++i)
    samples[profile_.samples[i].thread].push_back(i);
  // Pseudo-samples are made meanwhile, which stand behind all others.
  for (std::uint32_t thread = 0; thread < samples.size(); ++thread) {
    const auto first_pseudo = static_cast<std::uint32_t>(profile_.samples.size());
    ScaleThread(thread, samples[thread]);
    if (input_.counts != nullptr) ShareThreadCounts(thread, samples[thread], first_pseudo);
  }
}

void ProfileAssembly::ShareThreadCounts(std::uint32_t thread, std::vector<std::uint32_t> samples,
                                        std::uint32_t first_pseudo) {
  for (auto i = first_pseudo; i < profile_.samples.size(); ++i) samples.push_back(i);
  std::erase_if(samples, [&](auto i) { return profile_.samples[i].state != State::kOnCpu; });
  std::vector<CountedSample> counted;
  for (const std::uint32_t i : samples) {
    const ProfileSample& sample = profile_.samples[i];
    counted.push_back({sample.counts == 0 ? HardwareCounts{} : input_.counts->At(sample.counts),
                       sample.weight_ns});
  }
  // Of a thread whose counts are not known, samples keep theirs.
  if (profile_.threads[thread].counts) ShareCounts(*profile_.threads[thread].counts, counted);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    profile_.samples[samples[i]].counts = 0;
    if (IsZero(counted[i].counts)) continue;
    profile_.sample_counts.push_back(counted[i].counts);
    profile_.samples[samples[i]].counts = static_cast<std::uint32_t>(profile_.sample_counts.size());
  }
}

void ProfileAssembly::ScaleThread(std::uint32_t thread, std::span<const std::uint32_t> samples) {
  if (profile_.threads[thread].clock_missing) {
    // There is nothing to scale to. The raw weights are right on average, and the profile marks the
    // thread as one without a clock.
    for (const std::uint32_t i : samples)
      profile_.samples[i].weight_ns = profile_.samples[i].raw_weight_ns;
    return;
  }
  if ((mode_ & PROFD_SESSION_ON_CPU) != 0) ScaleState(thread, samples, State::kOnCpu);
  if ((mode_ & PROFD_SESSION_OFF_CPU) != 0) {
    ScaleState(thread, samples, State::kRunnable);
    ScaleState(thread, samples, State::kBlocked);
  }
}

void ProfileAssembly::ScaleState(std::uint32_t thread, std::span<const std::uint32_t> samples,
                                 State state) {
  std::vector<std::uint32_t> indices;
  std::vector<WeightedSample> weighted;
  for (const std::uint32_t i : samples) {
    const auto& sample = profile_.samples[i];
    if (sample.state != state) continue;
    indices.push_back(i);
    weighted.push_back({sample.raw_weight_ns, sample.exact, 0});
  }
  const auto left = ScaleToClock(weighted, StateClock(profile_.threads[thread].clock, state));
  for (std::size_t i = 0; i < indices.size(); ++i)
    profile_.samples[indices[i]].weight_ns = weighted[i].weight_ns;
  if (left != 0) AddNotSampled(thread, state, left, indices.empty());
}

void ProfileAssembly::AddNotSampled(std::uint32_t thread, State state, std::uint64_t ns,
                                    bool none_sampled) {
  const auto add = [&](WaitReason wait, std::uint64_t part_ns) {
    if (part_ns == 0) return;
    AddPseudo({.thread = thread,
               .state = state,
               .wait = wait,
               .gil = unsampled_gil_[thread],
               .name = kNotSampledIndex,
               .begin_ns = profile_.threads[thread].begin_ns,
               .ns = part_ns});
  };
  if (state != State::kBlocked) return add(WaitReason::kNone, ns);
  // Some waits have samples, so `ns` is a rest, and the kinds of the clock do not say which rest.
  if (!none_sampled) return add(WaitReason::kOther, ns);
  // No wait has a sample, so `ns` is the whole blocked time. The clock splits it by kind.
  const auto& blocked = profile_.threads[thread].clock.blocked_ns;
  add(WaitReason::kOther, blocked[PROFD_INTERRUPTIBLE]);
  add(WaitReason::kKernel, blocked[PROFD_UNINTERRUPTIBLE]);
  add(WaitReason::kIo, blocked[PROFD_IOWAIT]);
}

void ProfileAssembly::AddPseudo(const Pseudo& pseudo) {
  ProfileSample sample;
  sample.time_ns = pseudo.begin_ns;
  // Time that was not sampled has no weight of its own; scaling has assigned it.
  sample.raw_weight_ns = pseudo.exact ? pseudo.ns : 0;
  sample.weight_ns = pseudo.ns;
  sample.thread = pseudo.thread;
  sample.node = PseudoNode(pseudo.name);
  sample.state = pseudo.state;
  sample.wait = pseudo.wait;
  sample.count = 0;
  sample.exact = pseudo.exact;
  sample.gil = pseudo.gil;
  sample.path = pseudo.path;
  profile_.samples.push_back(sample);
}

void ProfileAssembly::Renumber() {
  // The stacks of samples that are equal in all four may differ. The stable sort keeps them in the
  // order of the events, which a replay repeats.
  const auto order = [](const ProfileSample& sample) {
    return std::tuple(sample.time_ns, sample.thread, sample.state, sample.wait);
  };
  std::stable_sort(
      profile_.samples.begin(), profile_.samples.end(),
      [&](const ProfileSample& a, const ProfileSample& b) { return order(a) < order(b); });

  // The tree numbers nodes in the order of arrival, and holds nodes that no kept sample uses. New
  // numbers in the order of the sorted samples are canonical, and drop the unused nodes.
  const auto& stacks = input_.stacks;
  const auto tree_size = static_cast<std::uint32_t>(stacks.size());
  std::vector<std::uint32_t> node_of(stacks.size() + kPseudoNames.size(), kNone);
  std::unordered_map<symbolize::FrameId, std::uint32_t> frame_of;
  // The root has no frame.
  profile_.nodes.resize(1);
  node_of[0] = 0;

  const auto add_node = [this](std::uint32_t parent, std::uint32_t frame) {
    profile_.nodes.push_back(StackNode{parent, frame});
    return static_cast<std::uint32_t>(profile_.nodes.size() - 1);
  };
  const auto add_frame = [&](symbolize::FrameId id) {
    const auto [found, added] =
        frame_of.try_emplace(id, static_cast<std::uint32_t>(profile_.frames.size()));
    if (added) profile_.frames.push_back(input_.frames(id));
    return found->second;
  };
  const auto add_pseudo_node = [&](std::uint32_t node) {
    symbolize::Frame frame;
    frame.kind = symbolize::FrameKind::kPseudo;
    frame.name = kPseudoNames[node - tree_size];
    profile_.frames.push_back(std::move(frame));
    return add_node(0, static_cast<std::uint32_t>(profile_.frames.size() - 1));
  };

  std::vector<std::uint32_t> path;
  // Upwards to the first node that has a new number (the root always has one), then down again:
  // parents must come before their children, because readers resolve nodes in one pass.
  const auto number_node = [&](std::uint32_t node) {
    if (node >= tree_size && node_of[node] == kNone) node_of[node] = add_pseudo_node(node);
    path.clear();
    for (std::uint32_t up = node; node_of[up] == kNone; up = stacks.At(up).parent)
      path.push_back(up);
    for (const std::uint32_t step : std::views::reverse(path)) {
      const auto& old = stacks.At(step);
      node_of[step] = add_node(node_of[old.parent], add_frame(old.frame));
    }
    return node_of[node];
  };
  for (auto& sample : profile_.samples) sample.node = number_node(sample.node);
  if (!paths_) return;
  if ((mode_ & PROFD_SESSION_BACKGROUND) != 0)
    for (std::size_t i = 0; i < row_of_.size(); ++i)
      row_by_key_.emplace(sampled_.threads[i].key, row_of_[i]);
  const auto describe = [this](const WaitLog::Thread& thread) { return DescribeOnPath(thread); };
  for (auto& sample : profile_.samples)
    sample.path = paths_->Number(sample.path, describe, number_node);
  WaitPaths::Parts parts = paths_->Take(row_of_, describe);
  profile_.wakers = true;
  profile_.paths = std::move(parts.paths);
  profile_.path_threads = std::move(parts.threads);
  profile_.wake_ups = std::move(parts.wake_ups);
}

void ProfileAssembly::NumberLabels() {
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  for (ProfileSample& sample : profile_.samples) {
    if (sample.labels == 0) continue;
    const auto [number, added] = numbers.try_emplace(
        sample.labels, static_cast<std::uint32_t>(profile_.label_sets.size() + 1));
    if (added) profile_.label_sets.push_back(input_.labels.Resolve(sample.labels));
    sample.labels = number->second;
  }
}

PathThread ProfileAssembly::DescribeOnPath(const WaitLog::Thread& thread) const {
  if (const auto row = row_by_key_.find(thread.key); row != row_by_key_.end()) {
    const ProfileThread& described = profile_.threads[row->second];
    return DescribePathThread(described, profile_.processes[described.process]);
  }
  const auto info = input_.processes.find(thread.process);
  const ProfileProcess process =
      DescribeProcess(thread.process, info == input_.processes.end() ? nullptr : info->second.get(),
                      input_.innermost_pids);
  PathThread described{.key = thread.key,
                       .process = thread.process,
                       .comm = thread.comm,
                       .process_comm = process.comm,
                       .shown_tid = thread.key.tid,
                       .shown_pid = process.shown_pid};
  if (thread.key.tid == thread.process.pid) described.shown_tid = process.shown_pid;
  // A member's name is that of its events: a thread may have taken another one since it woke.
  const auto known = std::ranges::find(input_.threads, thread.key, &ThreadHistory::key);
  if (known != input_.threads.end() && !known->comm().empty()) described.comm = known->comm();
  if (described.comm.empty()) described.comm = process.comm;
  if (described.process_comm.empty()) described.process_comm = described.comm;
  return described;
}

void ProfileAssembly::FindBuildIds() {
  for (const ProfileSample& sample : profile_.samples) {
    ProfileProcess& process = profile_.processes[profile_.threads[sample.thread].process];
    const std::string_view program = WithoutDeleted(process.executable);
    if (program.empty() || !process.build_id.empty()) continue;
    for (std::uint32_t node = sample.node; node != 0; node = profile_.nodes[node].parent) {
      const symbolize::Frame& frame = profile_.frames[profile_.nodes[node].frame];
      if (!frame.origin || frame.module != program) continue;
      process.build_id = frame.origin->build_id;
      break;
    }
  }
}

}  // namespace profd::aggregate
