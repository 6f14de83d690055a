#include "daemon/aggregate/concurrency/concurrency_count.h"

#include <algorithm>
#include <array>

#include "bpf/shared/points.h"

namespace profd::aggregate {
namespace {

constexpr std::uint64_t kLess = 1;
constexpr unsigned kWhatShift = 1;
constexpr std::uint64_t kWhatMask = 3;
constexpr unsigned kPointShift = 3;  // periods of the finest level fit in 54 bits

}  // namespace

void ConcurrencyCount::Mark(const Window& window, What what) {
  if (window.Length() == 0) return;
  const std::uint64_t first = profd_points_before(seed_, level_, window.begin_ns);
  const std::uint64_t last = profd_points_before(seed_, level_, window.end_ns);
  if (first == last) return;
  const std::uint64_t bits = std::uint64_t{what} << kWhatShift;
  changes_.push_back(first << kPointShift | bits);
  changes_.push_back(last << kPointShift | bits | kLess);
}

void ConcurrencyCount::Add(const ThreadStay& thread) {
  const auto mark = [&](std::uint64_t begin_ns, std::uint64_t end_ns, What what) {
    Mark(Intersect({begin_ns, end_ns}, thread.life), what);
  };
  Mark(thread.life, kLives);
  const auto known = log_.Find(thread.key);
  if (!known) return Mark(thread.life, kUnknown);
  const WaitLog::Thread& logged = log_.threads()[*known];
  // Its begin: the log may have its sample, or its snapshot, or nothing.
  const std::uint64_t open_ns = thread.off_since_ns.value_or(thread.life.end_ns);
  for (const LoggedWait& wait : logged.waits) {
    if (wait.begin_ns >= open_ns) break;
    mark(wait.begin_ns, wait.woken_ns, kBlocked);
    mark(wait.woken_ns, wait.end_ns, kRunnable);
  }
  mark(open_ns, thread.life.end_ns, thread.blocked ? kBlocked : kRunnable);
  for (const WaitLog::Range& lost : logged.lost) mark(lost.begin_ns, lost.end_ns, kUnknown);
  // The clock knows of later samples than have come. The open interval is known without one.
  if (logged.clock_number > logged.number) mark(logged.number_ns, open_ns, kUnknown);
}

Concurrency ConcurrencyCount::Count() && {
  std::ranges::sort(changes_);
  Concurrency result;
  std::array<std::int64_t, kWhats> now{};
  std::uint64_t point = 0;
  for (const std::uint64_t change : changes_) {
    const std::uint64_t points = (change >> kPointShift) - point;
    point = change >> kPointShift;
    const std::int64_t wanting = now[kLives] - now[kBlocked];
    const std::int64_t running = wanting - now[kRunnable];
    // Intervals come from another clock than lives, and may reach beyond by a little.
    const bool unknown = now[kUnknown] != 0 || running < 0;
    if (points != 0 && now[kLives] > 0 && unknown) result.unknown_points += points;
    if (points != 0 && now[kLives] > 0 && !unknown) {
      result.LevelOf(static_cast<std::uint32_t>(running)).running += points;
      result.LevelOf(static_cast<std::uint32_t>(wanting)).wanting += points;
    }
    now.at(change >> kWhatShift & kWhatMask) += (change & kLess) != 0 ? -1 : 1;
  }
  return result;
}

}  // namespace profd::aggregate
