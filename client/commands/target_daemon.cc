#include "client/commands/target_daemon.h"

#include <utility>

#include "client/commands/collect_target.h"
#include "daemon/base/proc_fs.h"

namespace profd::commands {

Result<client::DaemonConnection> ConnectFor(const v1::Target& target, const Context& context,
                                            const client::StopSignals& signals) {
  const Result<bool> needs_private = client::NeedsPrivateDaemon(context.global.host);
  if (!needs_private) return needs_private.error();
  if (*needs_private) {
    // A daemon that replays has processes of its own; a private one has those of this host.
    PROFD_TRY(CheckTarget(target, ProcFs()));
    return client::ConnectToPrivate(signals.original_mask(), context.console, context.temp_files);
  }
  auto running = client::ConnectToRunning(context.global.host);
  if (!running) return running.error();
  client::DaemonConnection connection;
  connection.client = *std::move(running);
  return connection;
}

}  // namespace profd::commands
