#include "daemon/aggregate/counts/count_scaling.h"

#include <functional>

#include "daemon/base/mul_div.h"

namespace profd::aggregate {
namespace {

using Part = std::function<std::uint64_t(const CountedSample&)>;

std::uint64_t SumOf(std::span<const CountedSample> samples, const Part& part) {
  std::uint64_t sum = 0;
  for (const CountedSample& sample : samples) sum += part(sample);
  return sum;
}

// The shares of `whole` by the first of `parts` whose sum is not 0. Rounded so that they add up.
std::vector<std::uint64_t> Shares(std::uint64_t whole, std::span<const CountedSample> samples,
                                  std::span<const Part> parts) {
  std::vector<std::uint64_t> shares(samples.size());
  for (const Part& part : parts) {
    const std::uint64_t all = SumOf(samples, part);
    if (all == 0) continue;
    std::uint64_t before = 0;
    std::uint64_t given = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      before += part(samples[i]);
      const std::uint64_t up_to = MulDiv(whole, before, all);
      shares[i] = up_to - given;
      given = up_to;
    }
    return shares;
  }
  return shares;
}

}  // namespace

void ShareCounts(const HardwareCounts& whole, std::span<CountedSample> samples) {
  const Part time = [](const CountedSample& sample) { return sample.counts.counted_ns; };
  const Part weight = [](const CountedSample& sample) { return sample.weight_ns; };
  const std::vector<std::uint64_t> times =
      Shares(whole.counted_ns, samples, std::vector<Part>{time, weight});
  std::vector<std::vector<std::uint64_t>> counts;
  for (std::size_t counter = 0; counter < PROFD_PMU_COUNTERS; ++counter) {
    const Part count = [counter](const CountedSample& sample) {
      return sample.counts.counts[counter];
    };
    counts.push_back(
        Shares(whole.counts[counter], samples, std::vector<Part>{count, time, weight}));
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].counts.counted_ns = times[i];
    for (std::size_t counter = 0; counter < PROFD_PMU_COUNTERS; ++counter)
      samples[i].counts.counts[counter] = counts[counter][i];
  }
}

}  // namespace profd::aggregate
