#include "client/commands/common/target_daemon.h"

#include <functional>
#include <string>
#include <utility>

#include "client/commands/common/collect_target.h"
#include "daemon/base/proc/proc_fs.h"

namespace profd::client {
namespace {

// `check` comes before a private profd is started.
Result<DaemonConnection> ConnectAfter(const std::function<Result<void>()>& check,
                                      const Context& context, const StopSignals& signals) {
  const Result<bool> needs_private = NeedsPrivateDaemon(context.global.host);
  if (!needs_private) return needs_private.error();
  if (*needs_private) {
    PROFD_TRY(check());
    return ConnectToPrivate(signals.original_mask(), context.console, context.temp_files);
  }
  auto running = ConnectToRunning(context.global.host);
  if (!running) return running.error();
  DaemonConnection connection;
  connection.client = *std::move(running);
  return connection;
}

}  // namespace

Result<DaemonConnection> ConnectFor(const v1::Target& target, const Context& context,
                                    const StopSignals& signals) {
  // A daemon that replays has processes of its own; a private one has those of this host.
  return ConnectAfter([&] { return CheckTarget(target, ProcFs()); }, context, signals);
}

Result<DaemonConnection> Connect(const Context& context, const StopSignals& signals) {
  return ConnectAfter([] { return Result<void>{}; }, context, signals);
}

Error WithCause(Error error, const DaemonConnection& connection, std::string_view when) {
  if (error.code != ErrorCode::kUnavailable || !connection.private_daemon) return error;
  const std::string how = connection.private_daemon->HowItEnded();
  if (!how.empty()) error.message = "the private profd " + how + std::string(when);
  return error;
}

}  // namespace profd::client
