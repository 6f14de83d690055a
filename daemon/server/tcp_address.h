// TcpAddress: a numeric address and port to listen at.
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

// "127.0.0.1:9899", "[::1]:9899", "localhost:9899" (127.0.0.1); port 0: one that is free.
// kInvalidArgument for everything else: names of hosts are not looked up.
[[nodiscard]] Result<TcpAddress> ParseTcpAddress(const std::string& text);

// Whether only this host can reach it.
[[nodiscard]] bool IsLoopback(const TcpAddress& address);

// A listening socket, non-blocking. kUnavailable: something else listens there.
[[nodiscard]] Result<UniqueFd> ListenAt(const TcpAddress& address);

// Of a listening socket.
[[nodiscard]] std::uint16_t PortOf(int fd);

}  // namespace profd::server
