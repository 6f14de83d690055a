// Weights: the arithmetic that gives each sample its weight in a profile. It has three steps:
// select (a session with a coarser period sees a part of the sampling points or samples), clip (a
// session gets the part of an interval that lies inside it), and scale (the weights of a thread and
// state add up to its exact clock). All functions are pure.
#pragma once

#include <cstdint>
#include <span>

namespace profd::aggregate {

// Decides which samples a session keeps. Equal keys give equal decisions, so that every replay of a
// recording gives the same profile.
struct SubsampleKey {
  std::uint64_t time_ns = 0;
  std::uint32_t tid = 0;
  std::uint32_t session = 0;
  std::uint32_t salt = 0;  // distinguishes two decisions about one sample
};

// Sampling points, each of which represents `period_ns`.
struct Points {
  std::uint32_t count = 0;
  std::uint64_t period_ns = 0;
};

// Samples of recordings in which each thread has had its own sampling points. Reduces `taken` to
// the period of a session. It keeps the whole part of count * taken.period_ns / session_period_ns,
// and one point more with the probability of the fraction, so the expected weight is unchanged. A
// session whose period is not coarser keeps all.
[[nodiscard]] Points SubsamplePoints(const Points& taken, std::uint64_t session_period_ns,
                                     const SubsampleKey& key);

// How the sampling points of a sample were chosen.
struct PointChoice {
  std::uint64_t seed = 0;      // bpf/shared/points.h
  std::uint32_t halvings = 0;  // the sample stands for 2^halvings; the period has them
};

// The sampling points of a session in the part [begin_ns, end_ns) of an interval, which had `taken`
// at the period with which it was sampled: those of the session's own level. A session whose period
// is not coarser keeps all.
[[nodiscard]] Points SelectPoints(const Points& taken, std::uint64_t session_period_ns,
                                  std::uint64_t begin_ns, std::uint64_t end_ns,
                                  const PointChoice& choice);

// The weight of an on-CPU sample in a session with the nominal period `session_period_ns`; 0: the
// session does not keep the sample. `weight_ns` is the sample's own period, with its jitter;
// `sampled_period_ns` is the nominal period with which it was taken. The expected weight is
// unchanged.
[[nodiscard]] std::uint64_t SubsampleOnCpu(std::uint64_t weight_ns, std::uint64_t sampled_period_ns,
                                           std::uint64_t session_period_ns,
                                           const SubsampleKey& key);

// [begin_ns, end_ns), CLOCK_MONOTONIC. Empty if end_ns <= begin_ns.
struct Window {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;

  [[nodiscard]] std::uint64_t Length() const { return end_ns > begin_ns ? end_ns - begin_ns : 0; }
  [[nodiscard]] bool Contains(std::uint64_t time_ns) const {
    return time_ns >= begin_ns && time_ns < end_ns;
  }
  friend bool operator==(const Window&, const Window&) = default;
};

// The part of `a` that is also in `b`. If there is none, an empty window at the begin of `a`.
[[nodiscard]] Window Intersect(const Window& a, const Window& b);

// The share of `weight_ns` for the part of `interval` inside `window`, in proportion to its length.
// Sampling points are drawn evenly over the interval, so this is their expected share.
[[nodiscard]] std::uint64_t ClipWeight(std::uint64_t weight_ns, const Window& interval,
                                       const Window& window);

struct WeightedSample {
  std::uint64_t raw_weight_ns = 0;
  bool exact = false;           // the raw weight is a measured duration
  std::uint64_t weight_ns = 0;  // the result
};

// Scales the samples of one thread and state to its clock. Exact samples keep their weight. The
// others share what the clock leaves, in proportion to their raw weights. If the exact samples
// alone exceed the clock, they are scaled down to it, and the others get nothing. Weights are whole
// ns by the largest remainder; the earlier sample wins a tie. Returns the ns of the clock for which
// there is no sample. The sum of the weights plus this is always `clock_ns`.
[[nodiscard]] std::uint64_t ScaleToClock(std::span<WeightedSample> samples, std::uint64_t clock_ns);

}  // namespace profd::aggregate
