// StopSignals: SIGINT, SIGTERM and SIGHUP as calls on an ordinary thread.
#pragma once

#include <signal.h>

#include <functional>
#include <memory>
#include <thread>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"

namespace profd::client {

// Made by the main thread before any other: from then on the signals are blocked in this thread and
// in all it starts, and wait for Handle. SIGHUP is left alone where it is ignored (nohup). SIGPIPE
// and SIGXFSZ are ignored, so that a write returns them as errors.
class StopSignals {
 public:
  // `from_terminal`: sent by the kernel to the whole foreground group, our children included.
  using Handler = std::function<void(int signal, bool from_terminal)>;

  [[nodiscard]] static Result<std::unique_ptr<StopSignals>> Block();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  // Calls `handler` on a thread of its own, once a signal, those included that came since Block.
  // Once only. The thread ends with this object.
  void Handle(Handler handler);

  // As it was before: what a child must be given back.
  [[nodiscard]] const sigset_t& original_mask() const { return original_mask_; }

 private:
  StopSignals() = default;
  void Run(const Handler& handler);

  sigset_t original_mask_{};
  UniqueFd signal_fd_;
  UniqueFd end_fd_;
  std::jthread thread_;
};

}  // namespace profd::client
