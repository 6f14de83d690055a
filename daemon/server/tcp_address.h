// TcpAddress: a numeric address and port to listen at, for TLS and for metrics.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"

namespace profd::server {

struct TcpAddress {
  sockaddr_storage address{};
  socklen_t bytes = 0;
};

// Parses "127.0.0.1:9899", "[::1]:9899" or "localhost:9899" (127.0.0.1). Port 0: any free one.
// kInvalidArgument: anything else, because names of hosts are not resolved.
[[nodiscard]] Result<TcpAddress> ParseTcpAddress(const std::string& text);

// The same, for addresses that only this host can reach; others are kInvalidArgument, too.
[[nodiscard]] Result<TcpAddress> ParseLoopbackAddress(const std::string& text);

// True if only this host can reach the address.
[[nodiscard]] bool IsLoopback(const TcpAddress& address);

// Returns a listening, non-blocking socket. kUnavailable: another process listens there.
[[nodiscard]] Result<UniqueFd> ListenAt(const TcpAddress& address);

// The port of a listening socket.
[[nodiscard]] std::uint16_t BoundPort(int fd);

}  // namespace profd::server
