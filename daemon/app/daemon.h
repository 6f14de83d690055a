// Daemon: the composition root. Makes the parts, connects them, and takes them down in order.
#pragma once

#include <spdlog/logger.h>

#include <memory>

#include "daemon/base/clock.h"
#include "daemon/base/result.h"
#include "daemon/config/options.h"

namespace profd::app {

// Owned and used by the main thread.
class Daemon {
 public:
  virtual ~Daemon() = default;
  // Serves when it returns. Clock and logger must outlive the daemon.
  [[nodiscard]] static Result<std::unique_ptr<Daemon>> Start(const config::Options& options,
                                                             const SystemClock& clock,
                                                             spdlog::logger& logger);
  // CLOCK_MONOTONIC ns since which every stage of the pipeline has made a round; 0: not yet.
  [[nodiscard]] virtual std::uint64_t ProgressNs() const = 0;
  // To be called now and then: what gRPC health checks are told, by the same.
  virtual void ReportHealth() const = 0;
  // Ends the sessions, detaches the kernel side, flushes every stage, stops serving. An error is
  // one of the recording, which may then be incomplete.
  [[nodiscard]] virtual Result<void> Stop() = 0;
};

}  // namespace profd::app
