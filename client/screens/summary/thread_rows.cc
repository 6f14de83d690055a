#include "client/screens/summary/thread_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "client/profile/profile_facts.h"
#include "client/profile/stack_names.h"
#include "client/text/number.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr double kIdleShare = 0.01;  // of its time; below it a thread does nothing worth a row

constexpr double kAlike = 0.1;  // of their time; what differs by less looks the same

// Rows with equal keys are joined; one without a key stays by itself.
using Key = std::optional<std::string>;

using SampledTimes = std::array<WaitTime, v1::WaitReason_ARRAYSIZE>;

std::vector<WaitTime> NonZero(const SampledTimes& times) {
  std::vector<WaitTime> waits;
  for (const WaitTime& wait : times)
    if (wait.ns > 0) waits.push_back(wait);
  std::ranges::stable_sort(waits, std::greater<>{}, &WaitTime::ns);
  return waits;
}

v1::WaitReason MainWait(const ThreadRow& row) {
  return row.waits.empty() ? v1::WAIT_NONE : row.waits.front().reason;
}

std::string PoolOf(const v1::Profile& profile, const ThreadRow& row) {
  return ProgramOf(profile.processes(static_cast<int>(row.process))) +
         (IsMain(profile, row) ? "\nmain" : "\n" + WithoutNumbers(row.name));
}

bool LookTheSame(const ThreadRow& a, const ThreadRow& b) {
  const auto near = [&](std::uint64_t ThreadRow::*state) {
    return std::fabs(ShareOf(a.*state, a.elapsed_ns) - ShareOf(b.*state, b.elapsed_ns)) < kAlike;
  };
  return MainWait(a) == MainWait(b) && a.clock_missing == b.clock_missing &&
         near(&ThreadRow::on_cpu_ns) && near(&ThreadRow::runnable_ns) &&
         near(&ThreadRow::blocked_ns);
}

bool IsIdle(const ThreadRow& row) {
  const auto busy = static_cast<double>(row.on_cpu_ns + row.runnable_ns);
  return !row.clock_missing && busy < kIdleShare * static_cast<double>(row.elapsed_ns);
}

void Add(ThreadRow& sum, const ThreadRow& row) {
  if (sum.name != row.name) sum.name = WithoutNumbers(sum.name);
  sum.threads.insert(sum.threads.end(), row.threads.begin(), row.threads.end());
  sum.tid.reset();
  sum.count += row.count;
  sum.elapsed_ns += row.elapsed_ns;
  sum.on_cpu_ns += row.on_cpu_ns;
  sum.spinning += row.spinning;
  sum.runnable_ns += row.runnable_ns;
  sum.blocked_ns += row.blocked_ns;
  sum.stolen += row.stolen;
  sum.clock_missing = sum.clock_missing || row.clock_missing;
  SampledTimes times{};
  const auto add = [&](const std::vector<WaitTime>& waits) {
    for (const WaitTime& wait : waits) {
      WaitTime& into = times[static_cast<std::size_t>(wait.reason)];
      into.reason = wait.reason;
      into.ns += wait.ns;
      into.points += wait.points;
      into.exact_ns += wait.exact_ns;
    }
  };
  add(sum.waits);
  add(row.waits);
  sum.waits = NonZero(times);
}

void CountProcesses(const v1::Profile& profile, ThreadRow& row) {
  std::set<std::uint32_t> processes;
  for (const std::uint32_t thread : row.threads)
    processes.insert(profile.threads(static_cast<int>(thread)).process());
  row.processes = 0;
  for (const std::uint32_t process : processes)
    row.processes += MembersOf(profile.processes(static_cast<int>(process)));
}

// Joins each row to the first one with the same key that `fits`.
template <typename KeyOf, typename Fits>
std::vector<ThreadRow> Join(const v1::Profile& profile, const std::vector<ThreadRow>& rows,
                            KeyOf key_of, Fits fits) {
  std::vector<ThreadRow> joined;
  std::vector<const ThreadRow*> firsts;  // of each joined row
  std::map<Key, std::vector<std::size_t>> seen;
  for (const ThreadRow& row : rows) {
    const Key key = key_of(row);
    std::vector<std::size_t> alone;
    std::vector<std::size_t>& candidates = key ? seen[key] : alone;
    const auto into = std::ranges::find_if(
        candidates, [&](std::size_t candidate) { return fits(*firsts[candidate], row); });
    if (into != candidates.end()) {
      Add(joined[*into], row);
      continue;
    }
    candidates.push_back(joined.size());
    joined.push_back(row);
    firsts.push_back(&row);
  }
  for (ThreadRow& row : joined) CountProcesses(profile, row);
  return joined;
}

constexpr auto kAnyFits = [](const ThreadRow&, const ThreadRow&) { return true; };

}  // namespace

bool IsRough(std::uint64_t ns, std::uint64_t points, std::uint64_t exact_ns) {
  return points < kFewSamples && exact_ns < ns - ns / 10;
}

std::vector<ThreadRow> EachThread(const v1::Profile& profile) {
  std::vector<ThreadRow> rows(static_cast<std::size_t>(profile.threads_size()));
  std::vector<SampledTimes> blocked(rows.size());
  std::vector<std::array<std::uint64_t, v1::State_ARRAYSIZE>> sampled(rows.size());
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    const std::uint32_t thread = samples.thread(i);
    sampled[thread][static_cast<std::size_t>(samples.state(i))] += samples.weight_ns(i);
    if (samples.state(i) != v1::STATE_BLOCKED) continue;
    // A reason that a newer profd may know is counted with the unknown ones.
    const v1::WaitReason reason =
        v1::WaitReason_IsValid(samples.wait(i)) ? samples.wait(i) : v1::WAIT_OTHER;
    WaitTime& wait = blocked[thread][static_cast<std::size_t>(reason)];
    wait.reason = reason;
    wait.ns += samples.weight_ns(i);
    if (samples.exact(i)) wait.exact_ns += samples.weight_ns(i);
    wait.points += samples.count(i);
  }
  const std::vector<SpinningTime> spinning = SpinningOfThreads(profile);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const v1::Thread& thread = profile.threads(static_cast<int>(i));
    const v1::ThreadClock& clock = thread.clock();
    ThreadRow& row = rows[i];
    row.threads = {static_cast<std::uint32_t>(i)};
    row.process = thread.process();
    row.name = SafeText(thread.comm());
    if (thread.group_size() == 0) row.tid = thread.tid();
    row.count = MembersOf(thread);
    row.elapsed_ns = LengthNs(thread);
    row.clock_missing = thread.clock_missing();
    row.on_cpu_ns = clock.on_cpu_ns();
    row.spinning = spinning[i];
    row.runnable_ns = clock.runnable_after_wakeup_ns() + clock.runnable_after_preemption_ns() +
                      clock.runnable_after_yield_ns();
    row.blocked_ns = clock.blocked_interruptible_ns() + clock.blocked_uninterruptible_ns() +
                     clock.blocked_iowait_ns();
    row.stolen = StolenOf(clock);
    if (row.clock_missing) {
      row.on_cpu_ns = sampled[i][v1::STATE_ON_CPU];
      row.runnable_ns = sampled[i][v1::STATE_RUNNABLE];
      row.blocked_ns = sampled[i][v1::STATE_BLOCKED];
    }
    row.waits = NonZero(blocked[i]);
  }
  return rows;
}

std::vector<ThreadRow> ThreadRows(const v1::Profile& profile) {
  std::vector<ThreadRow> rows = EachThread(profile);
  std::ranges::stable_sort(rows, [&](const ThreadRow& a, const ThreadRow& b) {
    const auto place = [](const ThreadRow& row) {
      return std::tuple(row.process, row.tid.value_or(0));
    };
    const std::uint64_t busy_a = a.on_cpu_ns + a.runnable_ns;
    const std::uint64_t busy_b = b.on_cpu_ns + b.runnable_ns;
    return busy_a != busy_b ? busy_a > busy_b : place(a) < place(b);
  });
  return Join(
      profile, rows,
      [&](const ThreadRow& row) -> Key {
        if (IsMain(profile, row) || !IsIdle(row)) return std::nullopt;
        return std::to_string(row.process) + "\n" + WithoutNumbers(row.name) + "\n" +
               std::to_string(MainWait(row));
      },
      kAnyFits);
}

std::vector<ThreadRow> JoinPools(const v1::Profile& profile, const std::vector<ThreadRow>& rows) {
  return Join(
      profile, rows, [&](const ThreadRow& row) -> Key { return PoolOf(profile, row); }, kAnyFits);
}

std::vector<ThreadRow> JoinAlike(const v1::Profile& profile, const std::vector<ThreadRow>& rows) {
  return Join(
      profile, rows, [&](const ThreadRow& row) -> Key { return PoolOf(profile, row); },
      LookTheSame);
}

bool IsMain(const v1::Profile& profile, const ThreadRow& row) {
  const v1::Thread& thread = profile.threads(static_cast<int>(row.threads.front()));
  const v1::Process& process = profile.processes(static_cast<int>(thread.process()));
  // Those of a group have no number; a first thread has the name of its process, as a rule.
  return process.group_size() != 0 ? thread.comm() == process.comm()
                                   : thread.tid() == process.pid();
}

}  // namespace profd::client
