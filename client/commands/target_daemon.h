// The profd that a command about a target works with.
#pragma once

#include "client/commands/context.h"
#include "client/daemon_choice.h"
#include "client/stop_signals.h"
#include "daemon/base/result.h"
#include "profd/v1/profiler.pb.h"

namespace profd::commands {

// The profd that runs, or a private one; before that is started the target is looked up, and
// kNotFound names what is not there.
[[nodiscard]] Result<client::DaemonConnection> ConnectFor(const v1::Target& target,
                                                          const Context& context,
                                                          const client::StopSignals& signals);

}  // namespace profd::commands
