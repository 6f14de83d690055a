// PassPoints: when a stream of observers makes its passes, and what each pass is worth.
#pragma once

#include <cstdint>

#include "bpf/shared/observer.h"

namespace profd::source {

// Pure: the sampling points of one stream (bpf/shared/observer.h), which follow from time alone.
class PassPoints {
 public:
  // `level`: of the sampling points, not coarser than PROFD_LONG_LEVEL. `seed`: points.h.
  PassPoints(std::uint32_t stream, std::uint32_t level, std::uint64_t seed)
      : stream_(stream), level_(level), seed_(seed) {}

  // The first point after `time_ns` (CLOCK_MONOTONIC).
  [[nodiscard]] std::uint64_t After(std::uint64_t time_ns) const;
  // The pass at one of the points. Its `cpu` is not set.
  [[nodiscard]] profd_pass PassAt(std::uint64_t point_ns) const;

 private:
  [[nodiscard]] std::uint64_t shift_ns() const { return stream_ * PROFD_STREAM_SHIFT_NS; }

  std::uint32_t stream_;
  std::uint32_t level_;
  std::uint64_t seed_;
};

}  // namespace profd::source
