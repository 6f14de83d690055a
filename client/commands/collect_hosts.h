// collect --hosts, collect --fleet: one profile of many hosts.
#pragma once

#include "client/commands/collect.h"

namespace profd::client {

// `options.hosts` names a file, or `options.fleet` asks which hosts run a service. Exit code 6: of
// some hosts only.
[[nodiscard]] int RunCollectHosts(const CollectOptions& options, const Context& context);

}  // namespace profd::client
