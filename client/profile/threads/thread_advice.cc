#include "client/profile/threads/thread_advice.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "client/profile/profile_facts.h"
#include "client/profile/spinning.h"
#include "client/profile/stack_names.h"
#include "client/profile/threads/concurrency.h"
#include "client/profile/threads/placement.h"
#include "client/profile/threads/placement_advice.h"
#include "client/text/number.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

// Below a tenth of the time, a change that removes all of it gains less than other things that a
// profile shows.
constexpr double kTenth = 0.1;
constexpr double kOversubscribedPoints = kTenth;  // of the sampling points
constexpr double kWaitedForCpu = kTenth;          // of the time in which threads wanted a CPU
constexpr double kSpins = kTenth;                 // of the time on CPUs
// A quota is used up in a period now and then by any burst.
constexpr double kThrottledPeriods = 0.05;
// A parallel part takes as long as its busiest thread: with half as much again, the others have
// nothing to do for a third of it.
constexpr double kUneven = 1.5;
// Of two threads none is the odd one.
constexpr std::size_t kPool = 3;
// Their mean share of work; below it the pool hardly works, and a single task makes one the
// busiest.
constexpr double kPoolWorks = 0.05;
// Of the life of the longest one: others had less time to work.
constexpr double kAsLong = 0.9;

double MiddleReach(double value, const Interval& interval) {
  return std::max(interval.high - value, value - interval.low);
}

std::string ShareText(double share, const Interval& interval) {
  return FormatShare(share) + FormatReach(MiddleReach(share, interval));
}

std::string CpusText(double cpus) {
  const bool whole = cpus == std::floor(cpus);
  return FormatDecimals(cpus, whole ? 0 : 2) + (cpus == 1 ? " CPU" : " CPUs");
}

// What one profile says of its processes.
class Adviser {
 public:
  Adviser(const v1::Profile& profile, const std::vector<ThreadUse>& threads)
      : profile_(profile),
        cpus_(profile),
        threads_(threads),
        processes_(UseOfProcesses(profile, threads)),
        spinning_(processes_.size()),
        spin_frames_(processes_.size()),
        pools_(processes_.size()) {
    AddSpinning();
    FindPools();
  }

  std::vector<ThreadAdvice> Run() {
    for (std::uint32_t process = 0; process < processes_.size(); ++process) {
      Oversubscription(process);
      Throttling(process);
      Imbalance(process);
      Spinning(process);
      SharedCores(process);
      Moves(process);
    }
    return std::move(advice_);
  }

 private:
  using Pools = std::map<std::string, std::vector<std::size_t>>;  // threads, by name

  const v1::Process& At(std::uint32_t process) const {
    return profile_.processes(static_cast<int>(process));
  }

  void AddSpinning() {
    const ShareError error(profile_);
    const v1::Samples& samples = profile_.samples();
    for (int i = 0; i < samples.weight_ns_size(); ++i) {
      if (PartOf(profile_, i) != TimePart::kSpinning) continue;
      const std::uint32_t process = profile_.threads(static_cast<int>(samples.thread(i))).process();
      error.Add(i, spinning_[process]);
      const std::uint32_t node = samples.rule_node(i);
      if (node != 0)
        spin_frames_[process][profile_.nodes(static_cast<int>(node) - 1).frame()] +=
            samples.weight_ns(i);
    }
  }

  void Oversubscription(std::uint32_t process) {
    const UsableCpus usable = UsableBy(profile_, At(process));
    const v1::Concurrency& concurrency = At(process).concurrency();
    const std::uint64_t points = PointsOf(concurrency);
    if (usable.by == UsableCpus::By::kUnknown || points == 0) return;
    const std::uint64_t beyond = PointsBeyond(concurrency, usable.cpus);
    const Interval interval = PointInterval(beyond, points);
    const ThreadUse& use = processes_[process];
    const double waited = ShareOf(use.time[TimePart::kRunnable].ns, use.wanted_ns());
    if (interval.low < kOversubscribedPoints || waited < kWaitedForCpu) return;
    const double share = ShareOf(beyond, points);
    advice_.push_back({ThreadAdvice::Kind::kOversubscribed, process, share, interval,
                       "up to " + FormatCount(MostWanting(concurrency), "thread") + " for " +
                           CpusText(usable.cpus) + ": at " + ShareText(share, interval) +
                           " of the points more wanted one than there are; threads were runnable " +
                           FormatShare(waited) + " of the time that they wanted one"});
  }

  void Throttling(std::uint32_t process) {
    const v1::CpuLimits& limits = At(process).cpu_limits();
    const double share = ShareOf(limits.throttled_periods(), limits.quota_periods());
    if (!(limits.quota_cpus() > 0) || share < kThrottledPeriods) return;
    advice_.push_back({ThreadAdvice::Kind::kThrottled,
                       process,
                       share,
                       {share, share},
                       "throttled by its cgroup in " + FormatShare(share) + " of " +
                           FormatCount(limits.quota_periods(), "period") + ": cpu.max is " +
                           CpusText(limits.quota_cpus())});
  }

  // The working time of a thread, and how far its spinning may move it.
  struct Work {
    double ns = 0;
    Interval interval;
  };
  static Work WorkOf(const ThreadUse& use) {
    const SampledTime& working = use.time[TimePart::kWorking];
    const SampledTime& spinning = use.time[TimePart::kSpinning];
    const auto ns = static_cast<double>(working.ns);
    if (spinning.ns == 0) return {ns, {ns, ns}};
    // Samples on a CPU are drawn one by one.
    const Interval share = PointInterval(working.points, working.points + spinning.points);
    const auto running = static_cast<double>(use.running_ns());
    return {ns, {std::min(ns, share.low * running), std::max(ns, share.high * running)}};
  }

  // Threads that live about as long as the longest one of their name.
  void FindPools() {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      const v1::Thread& thread = profile_.threads(static_cast<int>(i));
      const v1::Process& process = At(thread.process());
      if (process.group_size() != 0 || thread.group_size() != 0 || thread.clock_missing()) continue;
      // A main thread often has the name of a pool that it only starts.
      if (thread.tid() != process.pid())
        pools_[thread.process()][WithoutNumbers(thread.comm())].push_back(i);
    }
    for (Pools& pools : pools_)
      for (auto& pool : pools) KeepLongOnes(pool.second);
  }

  void KeepLongOnes(std::vector<std::size_t>& members) const {
    std::uint64_t longest = 0;
    for (const std::size_t i : members) longest = std::max(longest, threads_[i].elapsed_ns);
    std::erase_if(members, [&](std::size_t i) {
      return static_cast<double>(threads_[i].elapsed_ns) < kAsLong * static_cast<double>(longest);
    });
  }

  void Imbalance(std::uint32_t process) {
    for (const auto& [name, members] : pools_[process]) {
      if (members.size() < kPool) continue;
      Work most;
      Work sum;
      std::uint64_t elapsed_ns = 0;
      for (const std::size_t i : members) {
        const Work work = WorkOf(threads_[i]);
        if (work.ns > most.ns) most = work;
        sum.ns += work.ns;
        sum.interval.low += work.interval.low;
        sum.interval.high += work.interval.high;
        elapsed_ns += threads_[i].elapsed_ns;
      }
      const auto count = static_cast<double>(members.size());
      if (!(sum.ns > kPoolWorks * static_cast<double>(elapsed_ns)) || !(sum.interval.low > 0))
        continue;
      const double factor = most.ns * count / sum.ns;
      const Interval interval{most.interval.low * count / sum.interval.high,
                              most.interval.high * count / sum.interval.low};
      if (interval.low < kUneven) continue;
      const bool exact = interval.low == interval.high;
      advice_.push_back(
          {ThreadAdvice::Kind::kImbalance, process, factor, interval,
           "one of " + FormatCount(members.size(), "thread") + " " + SafeText(name) + " has " +
               (exact ? FormatFactor(factor)
                      : FormatFactor(interval.low) + " to " + FormatFactor(interval.high)) +
               " times the work of their mean: " +
               FormatDuration(static_cast<std::uint64_t>(most.ns))});
    }
  }

  void Spinning(std::uint32_t process) {
    const ThreadUse& use = processes_[process];
    const std::uint64_t running_ns = use.running_ns();
    const SampledTime& spinning = use.time[TimePart::kSpinning];
    const auto interval = ShareInterval(spinning_[process], running_ns);
    if (!interval || interval->low < kSpins) return;
    const auto most = std::ranges::max_element(spin_frames_[process], {},
                                               [](const auto& entry) { return entry.second; });
    const double share = ShareOf(spinning.ns, running_ns);
    std::string text = ShareText(share, *interval) + " of its time on CPUs is spinning";
    if (most != spin_frames_[process].end())
      text += ", most of it in " +
              FrameName(profile_.frames(static_cast<int>(most->first)), FrameStyle{});
    advice_.push_back({ThreadAdvice::Kind::kSpinning, process, share, *interval, std::move(text)});
  }

  void SharedCores(std::uint32_t process) {
    for (const auto& [name, members] : pools_[process]) {
      const auto shared = FindSharedCore(cpus_, threads_, members);
      if (!shared) continue;
      const std::string busy = ShareText(shared->busy, shared->interval);
      advice_.push_back({ThreadAdvice::Kind::kSharedCore, process, shared->busy, shared->interval,
                         CommOf(shared->first) + " and " + CommOf(shared->second) + " of " +
                             FormatCount(members.size(), "thread") + " " + SafeText(name) +
                             " share core " + std::to_string(shared->core) +
                             ": its other CPU was busy in ~" + busy + " of their samples; on " +
                             FormatCount(shared->free_cores, "core") + " none of them was seen"});
    }
  }

  [[nodiscard]] std::string CommOf(std::size_t thread) const {
    return SafeText(profile_.threads(static_cast<int>(thread)).comm());
  }

  void Moves(std::uint32_t process) {
    std::map<std::string, std::vector<std::size_t>> named;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      const v1::Thread& thread = profile_.threads(static_cast<int>(i));
      if (thread.process() == process && thread.group_size() == 0)
        named[WithoutNumbers(thread.comm())].push_back(i);
    }
    for (const auto& [name, threads] : named) {
      const auto moves = FindMoves(threads_, threads);
      if (!moves) continue;
      const std::string one = CommOf(moves->busiest) + " moves";
      const std::string many =
          FormatCount(moves->threads, "thread") + " " + SafeText(name) + " move";
      advice_.push_back({ThreadAdvice::Kind::kMoves,
                         process,
                         moves->per_second,
                         {moves->per_second, moves->per_second},
                         (moves->threads == 1 ? one : many) + " between " +
                             (moves->nodes ? "NUMA nodes " : "last-level caches ") +
                             (moves->threads == 1 ? "" : "up to ") +
                             FormatDecimals(moves->per_second, 1) + " times a second" +
                             (moves->threads == 1 ? ": pin it" : " each: pin them")});
    }
  }

  const v1::Profile& profile_;
  const CpuMap cpus_;
  const std::vector<ThreadUse>& threads_;
  const std::vector<ThreadUse> processes_;
  std::vector<ErrorSum> spinning_;                                   // by process
  std::vector<std::map<std::uint32_t, std::uint64_t>> spin_frames_;  // by process: ns by frame
  std::vector<Pools> pools_;                                         // by process
  std::vector<ThreadAdvice> advice_;
};

}  // namespace

std::string_view AdviceName(ThreadAdvice::Kind kind) {
  switch (kind) {
    case ThreadAdvice::Kind::kOversubscribed:
      return "oversubscribed";
    case ThreadAdvice::Kind::kImbalance:
      return "imbalance";
    case ThreadAdvice::Kind::kThrottled:
      return "throttled";
    case ThreadAdvice::Kind::kSpinning:
      return "spinning";
    case ThreadAdvice::Kind::kSharedCore:
      return "shared_core";
    case ThreadAdvice::Kind::kMoves:
      return "moves";
  }
  return "";
}

std::vector<ThreadAdvice> AdviceOf(const v1::Profile& profile,
                                   const std::vector<ThreadUse>& threads) {
  return Adviser(profile, threads).Run();
}

}  // namespace profd::client
