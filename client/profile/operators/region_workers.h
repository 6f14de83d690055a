// RegionWorkers: for which thread the workers of a parallel region work, inferred.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "client/profile/operators/operators.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// A worker holds no frame of the operator that it works for. It works for the thread of its process
// that leads a parallel region at that time, if only one does. Immutable; any thread.
class RegionWorkers {
 public:
  // The profile must have passed CheckProfile.
  RegionWorkers(const v1::Profile& profile, const Operators& operators);

  // Of a worker's sample at work: the sample of the thread for which it works. None: it is no
  // worker, or its thread is not known.
  [[nodiscard]] std::optional<int> LeaderOf(int sample) const {
    const int leader = leader_of_[static_cast<std::size_t>(sample)];
    return leader < 0 ? std::nullopt : std::optional(leader);
  }
  [[nodiscard]] bool empty() const { return !any_; }

 private:
  bool any_ = false;
  std::vector<int> leader_of_;  // by sample; -1: none
};

}  // namespace profd::client
