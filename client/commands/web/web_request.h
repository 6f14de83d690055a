// Parameters of a request of the page as what they mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/cli/history_options.h"
#include "client/web/server/web_server.h"
#include "daemon/base/result.h"
#include "profd/v1/profiler.pb.h"

namespace profd::client {

// All of these take names that begin with `prefix`; errors are kInvalidArgument and name the
// parameter.

// A whole number. None: it is not there, or "".
[[nodiscard]] Result<std::optional<std::uint64_t>> NumberParameter(const WebRequest& request,
                                                                   const std::string& name);
// from_unix_us, to_unix_us, and whom the history is of: pid, comm, exe, cgroup, container, unit,
// user, thread.
[[nodiscard]] Result<HistoryQuestion> HistoryParameters(const WebRequest& request,
                                                        const std::string& prefix);
// seconds, pid or comm, hz.
[[nodiscard]] Result<v1::CollectRequest> LiveParameters(const WebRequest& request);

}  // namespace profd::client
