// What the options of `top` mean.
#pragma once

#include "client/commands/cli_app.h"
#include "client/commands/options.h"
#include "daemon/base/result.h"

namespace profd::commands {

[[nodiscard]] Result<TopOptions> ParseTop(const RawOptions& raw);

}  // namespace profd::commands
