// MetricsText: readings as Prometheus reads them.
#pragma once

#include <string>

#include "daemon/server/http/readings.h"

namespace profd::server {

inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// Text format 0.0.4. Names: profd_..., base units, _total for what only grows; process_... for what
// every program exports. Counters that are zero are there, too. No name of a process, a user
// or a file of the host is in it: anybody on the host may read it.
[[nodiscard]] std::string MetricsText(const Readings& readings);

}  // namespace profd::server
