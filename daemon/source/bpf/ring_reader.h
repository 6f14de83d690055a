// RingReader: the BPF ring buffers through which events come.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/wire/event_source.h"

struct ring_buffer;

namespace profd::source {

// Programs do not wake the reader for each event, only when a ring is a quarter full: drain every
// now and then, and wait on wait_fds() meanwhile. Used by one thread.
class RingReader {
 public:
  using Sink = std::function<void(const wire::RawEvent&)>;
  struct Ring {
    int map_fd = -1;
    std::uint64_t bytes = 0;
  };

  [[nodiscard]] static Result<RingReader> Open(const std::vector<Ring>& rings);

  // Drains the rings in their order, each of at least what it held at the beginning and of no more
  // than its size, so that a producer that never rests cannot keep the reader here.
  void Drain(const Sink& sink);

  [[nodiscard]] const std::vector<int>& wait_fds() const { return wait_fds_; }
  // Records too short for an event, or of another size than they say: discarded.
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }

 private:
  struct Free {
    void operator()(ring_buffer* ring) const;
  };
  // What libbpf hands back to the callback; at a fixed address.
  struct Progress {
    const Sink* sink = nullptr;
    std::uint64_t limit_bytes = 0;
    std::uint64_t bytes = 0;
    std::uint64_t malformed = 0;
  };
  struct OpenRing {
    std::unique_ptr<Progress> progress;
    std::unique_ptr<ring_buffer, Free> ring;
  };
  static int OnRecord(void* context, void* data, std::size_t size);

  std::vector<OpenRing> rings_;
  std::vector<int> wait_fds_;
  std::uint64_t malformed_ = 0;
};

}  // namespace profd::source
