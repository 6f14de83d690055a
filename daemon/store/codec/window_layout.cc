#include "daemon/store/codec/window_layout.h"

#include <algorithm>
#include <numeric>

namespace profd::store {

using aggregate::ProfileSample;
using process::State;

std::uint64_t AttributesOf(const ProfileSample& sample) {
  return static_cast<std::uint64_t>(sample.state) | static_cast<std::uint64_t>(sample.wait) << 2 |
         static_cast<std::uint64_t>(sample.gil) << 6 | std::uint64_t{sample.exact} << 9 |
         std::uint64_t{sample.stack_flags} << 10;
}

bool SetAttributes(std::uint64_t attributes, ProfileSample& sample) {
  sample.state = static_cast<State>(attributes & 3);
  sample.wait = static_cast<process::WaitReason>(attributes >> 2 & 15);
  sample.gil = static_cast<process::Gil>(attributes >> 6 & 7);
  sample.exact = (attributes >> 9 & 1) != 0;
  sample.stack_flags = static_cast<std::uint16_t>(attributes >> 10);
  return sample.state <= State::kBlocked && sample.wait <= process::WaitReason::kOther &&
         sample.gil <= process::Gil::kWaited && attributes >> 26 == 0;
}

std::uint64_t ExpectedRaw(const ProfileSample& sample, std::uint64_t state_ns,
                          std::uint64_t on_cpu_period_ns, std::uint64_t off_cpu_period_ns) {
  if (sample.exact) return state_ns;
  return sample.count * (sample.state == State::kOnCpu ? on_cpu_period_ns : off_cpu_period_ns);
}

void ExpectWeights(std::span<ProfileSample> group, std::uint64_t state_ns,
                   std::vector<aggregate::WeightedSample>& scratch) {
  scratch.clear();
  for (const auto& sample : group) scratch.push_back({sample.raw_weight_ns, sample.exact, 0});
  const std::uint64_t left = aggregate::ScaleToClock(scratch, state_ns);
  for (std::size_t i = 0; i < group.size(); ++i) group[i].weight_ns = scratch[i].weight_ns;
  const auto rest = std::find_if(group.begin(), group.end(),
                                 [](const auto& sample) { return sample.count == 0; });
  if (rest != group.end()) rest->weight_ns += left;
}

std::uint64_t SumOfWeights(std::span<const ProfileSample> group) {
  return std::accumulate(group.begin(), group.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& s) { return sum + s.weight_ns; });
}

std::uint64_t AddSteps(std::uint64_t value, std::int64_t steps, unsigned shift) {
  const std::uint64_t result = value + (static_cast<std::uint64_t>(steps) << shift);
  return static_cast<std::int64_t>(result) < 0 ? 0 : result;
}

bool CorrectSum(std::span<ProfileSample> group, std::uint64_t sum) {
  const auto heaviest =
      std::max_element(group.begin(), group.end(),
                       [](const auto& a, const auto& b) { return a.weight_ns < b.weight_ns; });
  const std::uint64_t missing = sum - SumOfWeights(group);  // modulo 2^64, as are the sums
  const bool takes = static_cast<std::int64_t>(missing) < 0;
  if (takes && heaviest->weight_ns < 0 - missing) return false;
  heaviest->weight_ns += missing;
  return true;
}

}  // namespace profd::store
