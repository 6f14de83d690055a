#include "daemon/app/replay_daemon.h"

#include <utility>

#include "daemon/app/stop_times.h"

namespace profd::app {

Result<std::unique_ptr<Daemon>> ReplayDaemon::Start(const config::Options& options,
                                                    server::InheritedSockets sockets,
                                                    const rules::CurrentRules& rules,
                                                    const SystemClock& clock,
                                                    spdlog::logger& logger) {
  auto backend = replay::ReplayBackend::Open(options.replay_file, clock, logger);
  if (!backend) return backend.error();
  auto daemon = std::make_unique<ReplayDaemon>(std::move(*backend), rules, clock, logger);
  PROFD_TRY(daemon->front_end_.Serve(AccessOf(options, std::move(sockets))));
  return std::unique_ptr<Daemon>(std::move(daemon));
}

ReplayDaemon::ReplayDaemon(std::unique_ptr<replay::ReplayBackend> backend,
                           const rules::CurrentRules& rules, const SystemClock& clock,
                           spdlog::logger& logger)
    : backend_(std::move(backend)),
      health_(clock),
      front_end_({.backend = *backend_,
                  .status = *backend_,
                  .clock = clock,
                  .proc = proc_,
                  .logger = logger,
                  .history = nullptr,
                  .rules = rules,
                  .health = health_}) {}

Result<void> ReplayDaemon::Stop(Ending& ending) {
  ending.Step("sessions");
  front_end_.EndSessions(kSessionsUntil);
  ending.Step("calls");
  front_end_.StopServing(kCallsAtLeast);
  return {};
}

}  // namespace profd::app
