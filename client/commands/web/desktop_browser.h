// DesktopBrowser: shows an address in the browser of the desktop.
#pragma once

#include <string>

#include "client/commands/common/context.h"
#include "client/system/stop_signals.h"
#include "daemon/base/result.h"

namespace profd::client {

// Other users may read the arguments of processes, and the address is a secret. So the browser gets
// a file that leads there, which only the user of the desktop can read. `temp_files` of the context
// has it then. Does not wait for the browser. kUnsupported: there is no display.
[[nodiscard]] Result<void> OpenInBrowser(const std::string& address, const Context& context,
                                         const StopSignals& signals);

}  // namespace profd::client
