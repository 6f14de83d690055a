#include "client/profile/threads/spin_cause.h"

#include "client/profile/operators/operators.h"
#include "client/profile/operators/region_leaders.h"
#include "client/profile/spinning.h"

namespace profd::client {

void SpinCause::operator+=(const SpinCause& other) {
  serial_ns += other.serial_ns;
  imbalance_ns += other.imbalance_ns;
}

std::vector<SpinCause> SpinCausesOf(const v1::Profile& profile) {
  std::vector<SpinCause> causes(static_cast<std::size_t>(profile.threads_size()));
  const Operators operators(profile);
  if (operators.empty()) return causes;
  const RegionLeaders leaders(profile, operators);
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.node_size(); ++i) {
    if (!IsSpinning(profile, i)) continue;
    SpinCause& cause = causes[samples.thread(i)];
    if (leaders.IsInside(i)) {
      cause.imbalance_ns += samples.weight_ns(i);
    } else if (operators.IsInPool(samples.node(i))) {
      const RegionLeaders::Answer answer = leaders.At(i);
      if (!answer.inside.empty())
        cause.imbalance_ns += samples.weight_ns(i);
      else if (answer.complete)
        cause.serial_ns += samples.weight_ns(i);
    }
  }
  return causes;
}

}  // namespace profd::client
