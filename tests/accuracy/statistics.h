// How far a measured share may lie from the truth by chance alone.
//
// A share is a sum of weights over a sum of weights. Samples of one thread and state are taken at
// instants that do not depend on what the thread does: on-CPU samples at a period redrawn all the
// time (their phase within any loop is uniform, and that of one sample pairwise independent of the
// next one's), off-CPU sampling points one in each period, uniform in it (stratified: the variance
// is at most that of independent points). So for n samples of equal weight and a true share p, the
// variance of the share is at most p (1 - p) / n, and for weights w that differ, n is the effective
// number (sum w)^2 / (sum w^2) of Kish.
//
// Sampling points are the same for all threads. Those of one point may all lie in the function or
// all beside it: then their weights count as one weight. Of m threads at most at a time the sum of
// squares is m times as large at most.
//
// Bernstein's inequality bounds the tail without leaning on the normal distribution, which is wrong
// for few samples and shares near 0 or 1:
//     P(|measured - p| >= e) <= 2 exp(-n e^2 / (2 p (1 - p) + 2 e / 3)).
// Solved for e with the chance that one comparison may fail on a correct profiler. If the suite
// makes m comparisons, each gets 0.001 / m: by the union bound the whole suite fails by chance in
// fewer than 1 of 1,000 runs, however its comparisons depend on each other.
#pragma once

#include <cstdint>

namespace profd::accuracy {

// Comparisons that the suite may make in one run; it counts them and fails when they are more.
inline constexpr int kMaxComparisons = 200;
inline constexpr double kChance = 0.001 / kMaxComparisons;

// Sums over samples; one with `count` points counts as so many of equal weight.
struct Weights {
  double sum = 0;
  double sum_of_squares = 0;
  void Add(std::uint64_t weight_ns, std::uint32_t count);
  // They are of so many threads at a time at most, with the same sampling points.
  void ShareTheirPoints(std::uint32_t threads) { sum_of_squares *= threads; }
  // 0 when there is none.
  [[nodiscard]] double EffectiveSamples() const;
};

// The largest |measured - true_share| that chance explains. 1 when there is no sample.
[[nodiscard]] double ShareBound(double true_share, double effective_samples,
                                double chance = kChance);

}  // namespace profd::accuracy
