#include "daemon/aggregate/weights/weights.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "bpf/shared/points.h"
#include "daemon/base/keys.h"
#include "daemon/base/mul_div.h"

namespace profd::aggregate {
namespace {

__extension__ using Wide = unsigned __int128;

// True with probability numerator / denominator. The hash of the key stands in for a random number:
// a generator with a state would make the result depend on the order of the calls.
bool Draw(std::uint64_t numerator, std::uint64_t denominator, const SubsampleKey& key) {
  const std::uint64_t ids = (std::uint64_t{key.session} << 32) | key.salt;
  const std::uint64_t hash = MixBits(key.time_ns ^ MixBits(key.tid ^ MixBits(ids)));
  return MulDiv(hash, denominator, std::numeric_limits<std::uint64_t>::max()) < numerator;
}

struct Remainder {
  Wide part = 0;  // of 1 ns, in units of 1/sum
  std::size_t index = 0;
};

// Shares `total` among the samples whose exactness is `exact`, by raw weight. `sum` is the sum of
// their raw weights and is not 0.
void Apportion(std::span<WeightedSample> samples, bool exact, Wide sum, std::uint64_t total) {
  std::vector<Remainder> remainders;
  std::uint64_t given = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].exact != exact) continue;
    // 64 bits would overflow: both factors may be days in ns.
    const Wide share = static_cast<Wide>(samples[i].raw_weight_ns) * total;
    samples[i].weight_ns = static_cast<std::uint64_t>(share / sum);
    given += samples[i].weight_ns;
    remainders.push_back({share % sum, i});
  }
  // Each share was rounded down by less than 1 ns, so fewer ns than samples are left.
  const auto left = static_cast<std::ptrdiff_t>(total - given);
  const auto larger = [](const Remainder& a, const Remainder& b) {
    return a.part != b.part ? a.part > b.part : a.index < b.index;
  };
  // Only the set of the largest matters, not its order: linear time instead of a sort.
  std::nth_element(remainders.begin(), remainders.begin() + left, remainders.end(), larger);
  for (std::ptrdiff_t i = 0; i < left; ++i)
    ++samples[remainders[static_cast<std::size_t>(i)].index].weight_ns;
}

}  // namespace

Points SubsamplePoints(const Points& taken, std::uint64_t session_period_ns,
                       const SubsampleKey& key) {
  if (taken.count == 0 || session_period_ns <= taken.period_ns) return taken;
  const std::uint64_t total = MulDiv(taken.count, taken.period_ns, 1);
  const std::uint64_t whole = total / session_period_ns;
  const bool one_more = Draw(total % session_period_ns, session_period_ns, key);
  return Points{static_cast<std::uint32_t>(whole + (one_more ? 1 : 0)), session_period_ns};
}

Points SelectPoints(const Points& taken, std::uint64_t session_period_ns, std::uint64_t begin_ns,
                    std::uint64_t end_ns, const PointChoice& choice) {
  const std::uint32_t level = profd_level_not_below(session_period_ns);
  const std::uint64_t sampled_ns = taken.period_ns >> choice.halvings;
  if (taken.count == 0 || std::uint64_t{1} << level <= sampled_ns) return taken;
  const std::uint64_t count = profd_points_in(choice.seed, level, begin_ns, end_ns);
  return Points{static_cast<std::uint32_t>(std::min<std::uint64_t>(count, taken.count)),
                std::uint64_t{1} << std::min(level + choice.halvings, 63u)};
}

std::uint64_t SubsampleOnCpu(std::uint64_t weight_ns, std::uint64_t sampled_period_ns,
                             std::uint64_t session_period_ns, const SubsampleKey& key) {
  if (sampled_period_ns == 0 || session_period_ns <= sampled_period_ns) return weight_ns;
  if (!Draw(sampled_period_ns, session_period_ns, key)) return 0;
  // The samples that stay represent those that go. The jitter of the sample stays in proportion.
  return MulDiv(weight_ns, session_period_ns, sampled_period_ns);
}

Window Intersect(const Window& a, const Window& b) {
  const Window both{std::max(a.begin_ns, b.begin_ns), std::min(a.end_ns, b.end_ns)};
  return both.end_ns > both.begin_ns ? both : Window{a.begin_ns, a.begin_ns};
}

std::uint64_t ClipWeight(std::uint64_t weight_ns, const Window& interval, const Window& window) {
  const auto inside = Intersect(interval, window).Length();
  if (inside == 0) return 0;
  return MulDiv(weight_ns, inside, interval.Length());
}

std::uint64_t ScaleToClock(std::span<WeightedSample> samples, std::uint64_t clock_ns) {
  Wide exact_sum = 0;
  Wide other_sum = 0;
  for (auto& sample : samples) {
    (sample.exact ? exact_sum : other_sum) += sample.raw_weight_ns;
    sample.weight_ns = sample.exact ? sample.raw_weight_ns : 0;
  }
  // A measured duration uses other time stamps than the clock, so it may exceed the clock by a
  // little. The clock wins: it is what the profile promises to add up to.
  if (exact_sum > clock_ns) {
    Apportion(samples, true, exact_sum, clock_ns);
    return 0;
  }
  const auto left = clock_ns - static_cast<std::uint64_t>(exact_sum);
  // There is nothing to share it among: the caller shows it as not sampled.
  if (other_sum == 0) return left;
  Apportion(samples, false, other_sum, left);
  return 0;
}

}  // namespace profd::aggregate
