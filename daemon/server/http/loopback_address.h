// LoopbackAddress: where metrics may be served: on this host only.
#pragma once

#include <string>

#include "daemon/base/result.h"
#include "daemon/server/tcp_address.h"

namespace profd::server {

// As ParseTcpAddress. kInvalidArgument: it is no address, or others than this host could reach it.
[[nodiscard]] Result<TcpAddress> ParseLoopbackAddress(const std::string& text);

}  // namespace profd::server
