// The profd that a command works with, be it about a target or not.
#pragma once

#include <string_view>

#include "client/commands/common/context.h"
#include "client/link/daemon_choice.h"
#include "client/system/stop_signals.h"
#include "daemon/base/result.h"
#include "profd/v1/profiler.pb.h"

namespace profd::client {

// The profd that runs, or a private one; before that is started the target is looked up, and
// kNotFound names what is not there.
[[nodiscard]] Result<DaemonConnection> ConnectFor(const v1::Target& target, const Context& context,
                                                  const StopSignals& signals);
// Without a target.
[[nodiscard]] Result<DaemonConnection> Connect(const Context& context, const StopSignals& signals);

// Of an error: a private profd that ended says more than that it cannot be reached. `when` stands
// behind how it did, or is "".
[[nodiscard]] Error WithCause(Error error, const DaemonConnection& connection,
                              std::string_view when);

}  // namespace profd::client
