// What the options of `diff` mean.
#pragma once

#include <cstdint>

#include "client/cli/cli_app.h"
#include "client/cli/options.h"
#include "daemon/base/result.h"

namespace profd::client {

[[nodiscard]] Result<DiffCommandOptions> ParseDiff(const RawOptions& raw,
                                                   std::uint64_t now_unix_ns);

}  // namespace profd::client
