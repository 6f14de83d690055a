// Subsampling: what a session with a coarser period keeps of samples taken at a finer one.
#pragma once

#include <cstdint>

namespace profd::aggregate {

// What decides, and decides the same in every replay: a sample and the session that looks at it.
struct SubsampleKey {
  std::uint64_t time_ns = 0;
  std::uint32_t tid = 0;
  std::uint32_t session = 0;
  std::uint32_t salt = 0;  // tells two decisions about one sample apart
};

// Marks and what each stands for.
struct Points {
  std::uint32_t count = 0;
  std::uint64_t period_ns = 0;
};

// Sampling points of `taken`, subsampled to `session_period_ns`: count * taken.period /
// session_period, the whole part kept, one more with the probability of the fraction. A session
// whose period is not coarser keeps all. The expected weight is unchanged.
[[nodiscard]] Points SubsamplePoints(const Points& taken, std::uint64_t session_period_ns,
                                     const SubsampleKey& key);

// Weight of an on-CPU sample that stands for `weight_ns` (its own, jittered period), taken while
// `sampled_period_ns` was the nominal period, for a session whose nominal period is
// `session_period_ns`; 0: not kept. The expected weight is unchanged.
[[nodiscard]] std::uint64_t SubsampleOnCpu(std::uint64_t weight_ns, std::uint64_t sampled_period_ns,
                                           std::uint64_t session_period_ns,
                                           const SubsampleKey& key);

}  // namespace profd::aggregate
