#include "daemon/server/http/loopback_address.h"

namespace profd::server {

Result<TcpAddress> ParseLoopbackAddress(const std::string& text) {
  auto address = ParseTcpAddress(text);
  if (!address || IsLoopback(*address)) return address;
  return Error{ErrorCode::kInvalidArgument,
               "'" + text + "' is no loopback address; metrics are for this host only",
               "use 127.0.0.1:PORT or [::1]:PORT, and a collector or proxy on the host"};
}

}  // namespace profd::server
