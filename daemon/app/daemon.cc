#include "daemon/app/daemon.h"

#include <utility>

#include "daemon/app/live_daemon.h"
#include "daemon/app/replay_daemon.h"
#include "daemon/server/grpc/transport/server.h"

namespace profd::app {

Result<std::unique_ptr<Daemon>> Daemon::Start(const config::Options& options,
                                              const rules::CurrentRules& rules,
                                              reader::Zygote& zygote,
                                              const fleet::ExportProcess* exports,
                                              const SystemClock& clock, spdlog::logger& logger) {
  auto sockets = server::TakeInheritedSockets();
  if (!sockets) return sockets.error();
  return options.replay_file.empty()
             ? LiveDaemon::Start(options, *std::move(sockets), rules, zygote, exports, clock,
                                 logger)
             : ReplayDaemon::Start(options, *std::move(sockets), rules, clock, logger);
}

}  // namespace profd::app
