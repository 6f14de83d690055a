// RegionWorkers: for which thread the workers of a parallel region work, inferred.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "client/profile/operators/operators.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// A worker holds no frame of the operator that it works for. It works for the thread of its process
// that is inside a parallel region at that time, if only one thread is: by the sample of each
// thread that is ever in one that is nearest, or that holds that time. Samples on different CPUs
// are of different instants, so where an operator is shorter than the gap between samples, single
// answers are wrong, and sums are those of the regions that ran about that time. Immutable; any
// thread.
class RegionWorkers {
 public:
  // More threads of one process in regions: no worker is followed.
  static constexpr std::size_t kMaxMasters = 16;

  // All must have passed CheckProfile and outlive the call.
  RegionWorkers(const v1::Profile& profile, const Operators& operators);

  // Of a worker's sample at work: the sample of the thread for which it works. None: it is no
  // worker, or its thread is not known.
  [[nodiscard]] std::optional<int> MasterOf(int sample) const {
    const int master = master_of_[static_cast<std::size_t>(sample)];
    return master < 0 ? std::nullopt : std::optional(master);
  }
  [[nodiscard]] bool empty() const { return !any_; }

 private:
  bool any_ = false;
  std::vector<int> master_of_;  // by sample; -1: none
};

}  // namespace profd::client
