// LoopbackAddress: where metrics may be served: on this host only.
#pragma once

#include <sys/socket.h>

#include <string>

#include "daemon/base/result.h"

namespace profd::metrics {

struct LoopbackAddress {
  sockaddr_storage address{};
  socklen_t bytes = 0;
};

// "127.0.0.1:9899", "[::1]:9899", "localhost:9899"; port 0: one that is free. kInvalidArgument: it
// is no such address, or others than this host could reach it.
[[nodiscard]] Result<LoopbackAddress> ParseLoopbackAddress(const std::string& text);

}  // namespace profd::metrics
