// ReplayDaemon: a daemon that serves a recording.
#pragma once

#include <spdlog/logger.h>

#include <cstdint>
#include <memory>

#include "daemon/app/daemon.h"
#include "daemon/app/ending.h"
#include "daemon/app/front_end.h"
#include "daemon/base/clock.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/result.h"
#include "daemon/config/options.h"
#include "daemon/replay/replay_backend.h"
#include "daemon/server/grpc/transport/server.h"

namespace profd::app {

// Job: connects a ReplayBackend with the front end. Thread: the main thread makes and stops it.
// Owner: main(), through Daemon. It has no BPF, no history and no budgets; each session replays the
// recording for itself.
class ReplayDaemon : public Daemon {
 public:
  // Serves when it returns. `rules`, `clock` and `logger` must outlive the daemon.
  [[nodiscard]] static Result<std::unique_ptr<Daemon>> Start(const config::Options& options,
                                                             server::InheritedSockets sockets,
                                                             const rules::CurrentRules& rules,
                                                             const SystemClock& clock,
                                                             spdlog::logger& logger);

  ReplayDaemon(std::unique_ptr<replay::ReplayBackend> backend, const rules::CurrentRules& rules,
               const SystemClock& clock, spdlog::logger& logger);

  // Of the front end: the threads of the sessions end by themselves.
  [[nodiscard]] const Health& health() const override { return health_; }
  void ReportHealth(bool works) const override { front_end_.ReportHealth(works); }
  Result<void> Stop(Ending& ending) override;

 private:
  const ProcFs proc_;
  const std::unique_ptr<replay::ReplayBackend> backend_;
  Health health_;
  FrontEnd front_end_;
};

}  // namespace profd::app
