// WantedRing: through which the programs ask for unwind tables.
#pragma once

#include <functional>
#include <memory>

#include "bpf/shared/unwind_table.h"
#include "daemon/base/result.h"

struct ring_buffer;

namespace profd::source {

// Every request wakes the thread that waits on wait_fd(). Used by one thread.
class WantedRing {
 public:
  using Sink = std::function<void(const profd_wanted&)>;

  [[nodiscard]] static Result<WantedRing> Open(int map_fd);

  // Delivers the waiting requests, at most kMaxDrained.
  void Drain(const Sink& sink);
  [[nodiscard]] int wait_fd() const { return wait_fd_; }

 private:
  static constexpr int kMaxDrained = 1024;

  struct Free {
    void operator()(ring_buffer* ring) const;
  };
  // What libbpf hands back to the callback; at a fixed address.
  struct Progress {
    const Sink* sink = nullptr;
    int left = 0;
  };
  WantedRing() = default;

  std::unique_ptr<Progress> progress_;
  std::unique_ptr<ring_buffer, Free> ring_;
  int wait_fd_ = -1;
};

}  // namespace profd::source
