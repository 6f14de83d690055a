// Daemon: profd as a whole, live or replaying a recording.
#pragma once

#include <spdlog/logger.h>

#include <memory>

#include "daemon/app/ending.h"
#include "daemon/app/parts/health.h"
#include "daemon/base/clock.h"
#include "daemon/base/result.h"
#include "daemon/config/options.h"
#include "daemon/fleet/export_process.h"
#include "daemon/reader/zygote.h"
#include "daemon/rules/rule_set.h"

namespace profd::app {

// Job: the interface of the main thread to profd. Thread: main. Owner: main().
class Daemon {
 public:
  virtual ~Daemon() = default;
  // Serves when it returns. Rules, zygote, exports, clock and logger must outlive the daemon.
  // `exports` null: there are none.
  [[nodiscard]] static Result<std::unique_ptr<Daemon>> Start(
      const config::Options& options, const rules::CurrentRules& rules, reader::Zygote& zygote,
      const fleet::ExportProcess* exports, const SystemClock& clock, spdlog::logger& logger);
  [[nodiscard]] virtual const Health& health() const = 0;
  // Updates what gRPC health checks report. The run loop calls it regularly.
  virtual void ReportHealth(bool works) const = 0;
  // Ends the sessions, detaches the BPF programs, flushes every stage and stops serving. An error
  // comes from the recording, which may then be incomplete. What takes too long is left as it is;
  // the steps are given to `ending`.
  [[nodiscard]] virtual Result<void> Stop(Ending& ending) = 0;
};

}  // namespace profd::app
