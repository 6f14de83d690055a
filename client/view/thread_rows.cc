#include "client/view/thread_rows.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "client/view/number.h"
#include "client/view/text.h"

namespace profd::view {
namespace {

constexpr double kIdleShare = 0.01;  // of its time; below it a thread does nothing worth a row

// Rows with equal keys are joined; one without a key stays by itself.
using Key = std::optional<std::tuple<std::uint32_t, std::string, v1::WaitReason>>;

using SampledTimes = std::array<WaitTime, v1::WaitReason_ARRAYSIZE>;

// "pool-12" -> "pool-*": names of pool threads differ in numbers only.
std::string Stem(const std::string& name) {
  std::string stem;
  for (const char c : name) {
    if (c < '0' || c > '9')
      stem.push_back(c);
    else if (stem.empty() || stem.back() != '*')
      stem.push_back('*');
  }
  return stem;
}

std::vector<WaitTime> NonZero(const SampledTimes& times) {
  std::vector<WaitTime> waits;
  for (const WaitTime& wait : times)
    if (wait.ns > 0) waits.push_back(wait);
  std::ranges::stable_sort(waits, std::greater<>{}, &WaitTime::ns);
  return waits;
}

bool IsMainThread(const v1::Profile& profile, const ThreadRow& row) {
  return row.tid == profile.processes(static_cast<int>(row.process)).pid();
}

bool IsIdle(const ThreadRow& row) {
  const auto busy = static_cast<double>(row.on_cpu_ns + row.runnable_ns);
  return !row.clock_missing && busy < kIdleShare * static_cast<double>(row.elapsed_ns);
}

void Add(ThreadRow& sum, const ThreadRow& row) {
  if (sum.name != row.name) sum.name = Stem(sum.name);
  sum.threads.insert(sum.threads.end(), row.threads.begin(), row.threads.end());
  sum.tid.reset();
  sum.elapsed_ns += row.elapsed_ns;
  sum.on_cpu_ns += row.on_cpu_ns;
  sum.runnable_ns += row.runnable_ns;
  sum.blocked_ns += row.blocked_ns;
  sum.clock_missing = sum.clock_missing || row.clock_missing;
  SampledTimes times{};
  const auto add = [&](const std::vector<WaitTime>& waits) {
    for (const WaitTime& wait : waits) {
      WaitTime& into = times[static_cast<std::size_t>(wait.reason)];
      into.reason = wait.reason;
      into.ns += wait.ns;
      into.marks += wait.marks;
      into.exact_ns += wait.exact_ns;
    }
  };
  add(sum.waits);
  add(row.waits);
  sum.waits = NonZero(times);
}

template <typename KeyOf>
std::vector<ThreadRow> Join(const std::vector<ThreadRow>& rows, KeyOf key_of) {
  std::vector<ThreadRow> joined;
  std::map<Key, std::size_t> seen;
  for (const ThreadRow& row : rows) {
    if (const Key key = key_of(row)) {
      const auto [at, is_new] = seen.try_emplace(key, joined.size());
      if (!is_new) {
        Add(joined[at->second], row);
        continue;
      }
    }
    joined.push_back(row);
  }
  return joined;
}

}  // namespace

bool IsRough(std::uint64_t ns, std::uint64_t marks, std::uint64_t exact_ns) {
  return marks < kFewSamples && exact_ns < ns - ns / 10;
}

std::vector<ThreadRow> ThreadRows(const v1::Profile& profile) {
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
    wait.marks += samples.count(i);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const v1::Thread& thread = profile.threads(static_cast<int>(i));
    const v1::ThreadClock& clock = thread.clock();
    ThreadRow& row = rows[i];
    row.threads = {static_cast<std::uint32_t>(i)};
    row.process = thread.process();
    row.name = SafeText(thread.comm());
    row.tid = thread.tid();
    row.elapsed_ns = thread.end_ns() > thread.begin_ns() ? thread.end_ns() - thread.begin_ns() : 0;
    row.clock_missing = thread.clock_missing();
    row.on_cpu_ns = clock.on_cpu_ns();
    row.runnable_ns = clock.runnable_after_wakeup_ns() + clock.runnable_after_preemption_ns() +
                      clock.runnable_after_yield_ns();
    row.blocked_ns = clock.blocked_interruptible_ns() + clock.blocked_uninterruptible_ns() +
                     clock.blocked_iowait_ns();
    if (row.clock_missing) {
      row.on_cpu_ns = sampled[i][v1::STATE_ON_CPU];
      row.runnable_ns = sampled[i][v1::STATE_RUNNABLE];
      row.blocked_ns = sampled[i][v1::STATE_BLOCKED];
    }
    row.waits = NonZero(blocked[i]);
  }
  std::ranges::stable_sort(rows, [&](const ThreadRow& a, const ThreadRow& b) {
    const auto place = [](const ThreadRow& row) { return std::tuple(row.process, *row.tid); };
    const std::uint64_t busy_a = a.on_cpu_ns + a.runnable_ns;
    const std::uint64_t busy_b = b.on_cpu_ns + b.runnable_ns;
    return busy_a != busy_b ? busy_a > busy_b : place(a) < place(b);
  });
  return Join(rows, [&](const ThreadRow& row) -> Key {
    if (IsMainThread(profile, row) || !IsIdle(row)) return std::nullopt;
    const v1::WaitReason reason = row.waits.empty() ? v1::WAIT_NONE : row.waits.front().reason;
    return std::tuple(row.process, Stem(row.name), reason);
  });
}

std::vector<ThreadRow> JoinPools(const v1::Profile& profile, const std::vector<ThreadRow>& rows) {
  return Join(rows, [&](const ThreadRow& row) -> Key {
    if (IsMainThread(profile, row)) return std::nullopt;
    return std::tuple(row.process, Stem(row.name), v1::WAIT_NONE);
  });
}

}  // namespace profd::view
