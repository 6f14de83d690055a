// What the options of `diff` mean.
#pragma once

#include <cstdint>

#include "client/commands/cli_app.h"
#include "client/commands/options.h"
#include "daemon/base/result.h"

namespace profd::commands {

[[nodiscard]] Result<DiffCommandOptions> ParseDiff(const RawOptions& raw,
                                                   std::uint64_t now_unix_ns);

}  // namespace profd::commands
