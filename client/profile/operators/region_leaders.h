// RegionLeaders: which threads of a process lead parallel regions at an instant, by their samples.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "client/profile/operators/operators.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// A thread that is ever seen in a parallel region is a leader. What it does at an instant is what
// its sample says that is nearest, or that holds this instant. Samples on different CPUs are of
// different instants, so where a region is shorter than the gap between samples, single answers are
// wrong, and sums are those of the regions about that time. At the end of a region a leader may
// wait in functions of the pool, without a frame of the region: it counts as inside, and so does a
// worker that leads nested regions, all the time. Immutable; any thread.
class RegionLeaders {
 public:
  // With more leaders in one process, none is followed.
  static constexpr std::size_t kMaxLeaders = 16;

  // `profile` must have passed CheckProfile, and both outlive this. Without times of samples, no
  // leader is known.
  RegionLeaders(const v1::Profile& profile, const Operators& operators);

  // What the leaders of a process do at the time of a sample, its own thread left out.
  struct Answer {
    bool complete = false;    // there are leaders, and each has a sample that is near enough
    std::vector<int> inside;  // the samples of those in a region
  };
  [[nodiscard]] Answer At(int sample) const;
  // The thread of the sample leads a region.
  [[nodiscard]] bool IsInside(int sample) const;

 private:
  struct Leader {
    std::uint32_t thread = 0;
    std::vector<int> samples;  // in order of time
  };

  [[nodiscard]] std::uint32_t ProcessOf(int sample) const;
  Leader& Of(int sample);
  [[nodiscard]] std::uint64_t LengthNs(int sample) const;
  [[nodiscard]] int Nearest(const Leader& leader, std::uint64_t time_ns) const;

  const v1::Profile& profile_;
  const Operators& operators_;
  const std::uint64_t gap_ns_;
  std::vector<bool> is_leader_;  // by thread
  std::map<std::uint32_t, std::vector<Leader>> by_process_;
};

}  // namespace profd::client
