#include "daemon/aggregate/clipping.h"

#include <algorithm>

#include "daemon/base/mul_div.h"

namespace profd::aggregate {

Window Intersect(const Window& a, const Window& b) {
  const Window both{std::max(a.begin_ns, b.begin_ns), std::min(a.end_ns, b.end_ns)};
  return both.end_ns > both.begin_ns ? both : Window{a.begin_ns, a.begin_ns};
}

std::uint64_t ClipWeight(std::uint64_t weight_ns, const Window& interval, const Window& window) {
  const auto inside = Intersect(interval, window).Length();
  if (inside == 0) return 0;
  return MulDiv(weight_ns, inside, interval.Length());
}

}  // namespace profd::aggregate
