#include "client/profile/operators/region_workers.h"

#include "client/profile/operators/region_leaders.h"
#include "client/profile/spinning.h"

namespace profd::client {

RegionWorkers::RegionWorkers(const v1::Profile& profile, const Operators& operators) {
  const v1::Samples& samples = profile.samples();
  leader_of_.assign(static_cast<std::size_t>(samples.node_size()), -1);
  if (operators.empty()) return;
  const RegionLeaders leaders(profile, operators);
  for (int i = 0; i < samples.node_size(); ++i) {
    const auto op = operators.OperatorOf(i);
    if (!op || !operators.IsWorker(*op) || !IsWorking(profile, i)) continue;
    const std::vector<int> inside = leaders.At(i).inside;
    if (inside.size() != 1) continue;
    leader_of_[static_cast<std::size_t>(i)] = inside.front();
    any_ = true;
  }
}

}  // namespace profd::client
