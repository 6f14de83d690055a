// SamplingError: what a profile says of how far the choice of sampling points may have moved the
// weights of its samples.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace profd::aggregate {

// A sample begins between two neighbouring points and ends between two others: its edges. Where
// exactly, is not known, and that is its error. Each pair of neighbours belongs to one of 16 parts
// and has a sign by chance, the same for all threads. So the error of any sum of samples is a sum
// of the squares of 16 numbers, and what threads do together or in turns counts in full.
inline constexpr std::uint32_t kErrorParts = 16;

// One edge has 6 bits: the part, kEdgeMinus, kEdgeSet. The begin has the lower ones.
inline constexpr std::uint16_t kEdgeMinus = 1u << 4;
inline constexpr std::uint16_t kEdgeSet = 1u << 5;
inline constexpr std::uint32_t kEdgeBits = 6;

// The points of one sample, one in each of neighbouring periods. On the CPU a thread has points of
// its own, which are its samples: level 0, numbered from 1 in their order. Nothing is known of what
// is before and after them, so there are edges, too: a thread with one point may be elsewhere.
struct PointRun {
  std::uint32_t row = 0;  // equal: the same stack
  std::uint32_t level = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

// The points that a sample had in the wait [begin_ns, end_ns). They come from the seed; a count
// that differs from theirs is spread over the periods from the begin on.
[[nodiscard]] PointRun FindPoints(std::uint64_t seed, std::uint32_t level, std::uint64_t begin_ns,
                                  std::uint64_t end_ns, std::uint32_t count);

// Used by one thread: Add for each thread and state, then FactorOf. The same input gives the same
// result.
//
// The square of the difference of two neighbouring points overestimates: it counts a change between
// them as if the points were a period apart, while a point is wrong only within its own period,
// where two points are a third of it apart. By how much, shows where points came close by chance:
// pairs weighed so that their distances are those within a period. A thread has few of them, so its
// correction is drawn towards that of the host, and this one towards the case of long waits: a
// change between two points and two points has a third of the variance.
class SamplingError {
 public:
  // Of the sampling points of the host.
  explicit SamplingError(std::uint64_t seed) : seed_(seed) {}

  // One thread in one state: its number, the periods of its life from `from` to `to`, and its runs
  // in order of time, all of one level. `salt` is different for threads with points of their own.
  struct Series {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t salt = 0;
    std::span<const PointRun> runs{};
  };
  // The edges of each run. `sums` collects what FactorOf needs.
  struct Sums {
    double changes = 0;
    double close = 0;  // by the distance of their points
    double steps = 0;  // as if all waits that show at two points were long
    double periods = 0;
    bool own_points = false;
  };
  [[nodiscard]] std::vector<std::uint16_t> Add(const Series& series, Sums& sums);

  // What an edge weighs, as a fraction of one point's weight. All series have been added.
  [[nodiscard]] double FactorOf(const Sums& sums) const;

 private:
  struct Stay {
    std::uint32_t row = 0;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    [[nodiscard]] bool is_long() const { return last > first; }
  };
  [[nodiscard]] static std::vector<Stay> StaysOf(const Series& series);
  [[nodiscard]] std::uint16_t Edge(const PointRun& run, std::uint64_t salt, std::uint64_t pair,
                                   bool begins) const;
  // How much a change between the points `pair` and `pair` + 1 says of changes within a period.
  [[nodiscard]] double Closeness(std::uint32_t level, std::uint64_t pair) const;

  const std::uint64_t seed_;
  Sums host_;
  std::unordered_map<std::uint64_t, double> changes_at_;  // by level and pair of points
  double squares_ = 0;                                    // sum over them
};

}  // namespace profd::aggregate
