#include "daemon/aggregate/weights/sampling_error.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bpf/shared/points.h"
#include "daemon/base/keys.h"

namespace profd::aggregate {
namespace {

// The row of points at which the thread is not in this state.
constexpr std::uint32_t kElsewhere = std::numeric_limits<std::uint32_t>::max();

// A mean of fewer changes than this says less than what is expected of it before.
constexpr double kPriorChanges = 20;

// The variance of a change between long waits: with a step at a uniform place in a period, a point
// is wrong by u(1 - u) on average, 1/6, where half the squared difference is 1/2.
constexpr double kStep = 1.0 / 3;

std::uint64_t PairKey(std::uint32_t level, std::uint64_t pair) { return pair << 6 | level; }

}  // namespace

PointRun FindPoints(std::uint64_t seed, std::uint32_t level, std::uint64_t begin_ns,
                    std::uint64_t end_ns, std::uint32_t count) {
  PointRun run{.row = 0, .level = level, .first = begin_ns >> level, .last = 0};
  if (profd_points_in(seed, level, begin_ns, end_ns) == count)
    run.first = profd_points_before(seed, level, begin_ns);
  run.last = run.first + std::max(count, 1u) - 1;
  return run;
}

std::vector<SamplingError::Stay> SamplingError::StaysOf(const Series& series) {
  std::vector<Stay> stays;
  const auto add = [&](std::uint32_t row, std::uint64_t first, std::uint64_t last) {
    if (!stays.empty() && stays.back().row == row)
      stays.back().last = last;
    else
      stays.push_back({row, first, last});
  };
  std::uint64_t next = series.from;
  for (const PointRun& run : series.runs) {
    // Clocks of two CPUs may differ by a little, and two waits may both claim a period.
    const std::uint64_t first = std::max(run.first, next);
    const std::uint64_t last = std::min(run.last, series.to);
    if (first > last) continue;
    if (first > next) add(kElsewhere, next, first - 1);
    add(run.row, first, last);
    next = last + 1;
  }
  if (next <= series.to) add(kElsewhere, next, series.to);
  return stays;
}

std::uint16_t SamplingError::Edge(const PointRun& run, std::uint64_t salt, std::uint64_t pair,
                                  bool begins) const {
  const std::uint64_t random = MixBits(seed_ ^ MixBits(PairKey(run.level, pair) ^ MixBits(salt)));
  const auto part = static_cast<std::uint16_t>((pair + salt) % kErrorParts);
  const bool minus = ((random & 1) != 0) != begins;
  return static_cast<std::uint16_t>(part | (minus ? kEdgeMinus : 0) | kEdgeSet);
}

double SamplingError::Closeness(std::uint32_t level, std::uint64_t pair) const {
  if (level < PROFD_FINEST_LEVEL || level > PROFD_COARSEST_LEVEL) return 1;
  const double period = std::ldexp(1.0, static_cast<int>(level));
  const auto point = [&](std::uint64_t number) { return profd_point(seed_, level, number); };
  const double distance = static_cast<double>(point(pair + 1) - point(pair)) / period;
  if (distance >= 1) return 0;
  // Two points of one period have the distance d with the density 2(1 - d), neighbours d. The
  // quotient has no bound, so it ends at 8; this takes a fifth of its mean.
  constexpr double kMost = 8;
  constexpr double kMean = 0.8;
  return std::min(2 * (1 - distance), kMost * distance) / std::max(distance, 1 / period) / kMean;
}

std::vector<std::uint16_t> SamplingError::Add(const Series& series, Sums& sums) {
  std::vector<std::uint16_t> edges;
  for (const PointRun& run : series.runs) {
    std::uint16_t both = 0;
    if (run.first > series.from) both = Edge(run, series.salt, run.first - 1, true);
    if (run.last < series.to)
      both =
          static_cast<std::uint16_t>(both | Edge(run, series.salt, run.last, false) << kEdgeBits);
    edges.push_back(both);
  }
  if (series.runs.empty()) return edges;
  const std::uint32_t level = series.runs.front().level;
  sums.own_points = level == 0;
  sums.periods += static_cast<double>(series.to - series.from + 1);
  const std::vector<Stay> stays = StaysOf(series);
  for (std::size_t i = 1; i < stays.size(); ++i) {
    const Stay& before = stays[i - 1];
    if (sums.own_points && (before.row == kElsewhere || stays[i].row == kElsewhere)) continue;
    const double close = Closeness(level, before.last);
    const double step = before.is_long() && stays[i].is_long() ? kStep : 1;
    const auto count = [&](Sums& to) {
      to.changes += 1;
      to.close += close;
      to.steps += step;
    };
    count(sums);
    if (sums.own_points) continue;
    count(host_);
    // The sum of squares grows by that of the new number without that of the old one.
    squares_ += 2 * changes_at_[PairKey(level, before.last)]++ + 1;
  }
  return edges;
}

double SamplingError::FactorOf(const Sums& sums) const {
  const auto draw = [](double close, double changes, double expected) {
    return std::clamp((close + kPriorChanges * expected) / (changes + kPriorChanges), kStep, 1.0);
  };
  const auto expected = [](const Sums& of) { return of.changes > 0 ? of.steps / of.changes : 1; };
  double correction = expected(sums);
  if (!sums.own_points && host_.changes > 0) {
    // Threads that change together show one change, not many.
    const double apart = host_.changes * host_.changes / squares_;
    const double host = draw(host_.close / host_.changes * apart, apart, expected(host_));
    correction = draw(sums.close, sums.changes, host);
  }
  // Points of a thread's own have an edge at each end, which counts for half a pair. Else n points
  // have n - 1 pairs.
  if (sums.own_points) return std::sqrt(correction / 2);
  return sums.periods < 2 ? 0 : std::sqrt(correction / 2 * sums.periods / (sums.periods - 1));
}

}  // namespace profd::aggregate
