#include "daemon/aggregate/subsampling.h"

#include <algorithm>
#include <limits>

#include "daemon/base/keys.h"
#include "daemon/base/mul_div.h"

namespace profd::aggregate {
namespace {

// True with probability numerator / denominator, by a hash of the key.
bool Draw(std::uint64_t numerator, std::uint64_t denominator, const SubsampleKey& key) {
  const std::uint64_t ids = (std::uint64_t{key.session} << 32) | key.salt;
  const std::uint64_t hash = MixBits(key.time_ns ^ MixBits(key.tid ^ MixBits(ids)));
  return MulDiv(hash, denominator, std::numeric_limits<std::uint64_t>::max()) < numerator;
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

std::uint64_t SubsampleOnCpu(std::uint64_t weight_ns, std::uint64_t sampled_period_ns,
                             std::uint64_t session_period_ns, const SubsampleKey& key) {
  if (sampled_period_ns == 0 || session_period_ns <= sampled_period_ns) return weight_ns;
  if (!Draw(sampled_period_ns, session_period_ns, key)) return 0;
  return MulDiv(weight_ns, session_period_ns, sampled_period_ns);
}

}  // namespace profd::aggregate
