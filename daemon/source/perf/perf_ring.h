// PerfRing: the mapped ring of one perf event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"

namespace profd::source {

// One record with its header, contiguous; valid only during the call.
using PerfRecordSink = std::function<void(std::span<const std::byte>)>;

// Delivers the records in [tail, head) of `ring`, whose size is a power of two. False when a
// record's length makes no sense: what follows it cannot be found, so the rest is given up.
[[nodiscard]] bool WalkPerfRing(std::span<const std::byte> ring, std::uint64_t tail,
                                std::uint64_t head, const PerfRecordSink& sink);

// Owns the mapping, not the event. Used by one thread at a time.
class PerfRing {
 public:
  // `data_pages` is a power of two.
  [[nodiscard]] static Result<PerfRing> Map(const UniqueFd& event, std::size_t data_pages);

  // Delivers all records. False as WalkPerfRing; the ring is empty in any case.
  bool Drain(const PerfRecordSink& sink);

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(void* address) const;
  };
  explicit PerfRing(std::unique_ptr<void, Unmap> mapping) : mapping_(std::move(mapping)) {}

  std::unique_ptr<void, Unmap> mapping_;
};

}  // namespace profd::source
