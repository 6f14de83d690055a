#include "daemon/source/observe/pass_points.h"

#include <algorithm>

#include "bpf/shared/points.h"

namespace profd::source {

std::uint64_t PassPoints::After(std::uint64_t time_ns) const {
  const std::uint64_t time = std::max(time_ns, shift_ns()) - shift_ns();
  std::uint64_t period = time >> level_;
  std::uint64_t point = profd_point(seed_, level_, period);
  if (point <= time) point = profd_point(seed_, level_, ++period);
  return point + shift_ns();
}

profd_pass PassPoints::PassAt(std::uint64_t point_ns) const {
  const std::uint64_t time = point_ns - shift_ns();
  const std::uint64_t long_period = time >> PROFD_LONG_LEVEL;
  const bool is_long = profd_point(seed_, PROFD_LONG_LEVEL, long_period) == time;
  profd_pass pass{};
  pass.point_ns = point_ns;
  pass.weight_ns = std::uint64_t{1} << level_;
  pass.long_weight_ns = is_long ? std::uint64_t{1} << PROFD_LONG_LEVEL : 0;
  pass.stream = stream_;
  pass.long_period = static_cast<__u32>(long_period);
  return pass;
}

}  // namespace profd::source
