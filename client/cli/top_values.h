// What the options of `top` mean.
#pragma once

#include "client/cli/cli_app.h"
#include "client/cli/options.h"
#include "daemon/base/result.h"

namespace profd::client {

[[nodiscard]] Result<TopOptions> ParseTop(const RawOptions& raw);

}  // namespace profd::client
