// ListenAddress: where a server may listen, and making room there.
#pragma once

#include <string>

#include "daemon/base/result.h"

namespace profd::rpc {

struct ListenAddress {
  std::string grpc;         // as gRPC wants it
  std::string socket_path;  // of a unix socket; "" for TCP
};

// "unix:PATH", "unix:///PATH", "/PATH", "127.0.0.1:PORT", "[::1]:PORT", "localhost:PORT".
// Everything else, and so every address that another host can reach, is kInvalidArgument.
[[nodiscard]] Result<ListenAddress> ParseListenAddress(const std::string& text);

// Makes the directory (mode 0755) when it is missing, and removes a socket nobody listens at.
// kUnavailable: somebody does. kIo: something else is in the way.
[[nodiscard]] Result<void> PrepareSocket(const std::string& path);

}  // namespace profd::rpc
