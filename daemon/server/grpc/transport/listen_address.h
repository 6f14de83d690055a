// Where a server may listen, and making room there.
#pragma once

#include <string>

#include "daemon/base/result.h"

namespace profd::server {

// The path of "unix:PATH", "unix:///PATH" or "/PATH"; everything else is kInvalidArgument.
[[nodiscard]] Result<std::string> ParseSocketAddress(const std::string& text);

// Makes the directory (mode 0755) when it is missing, and removes a socket nobody listens at.
// kUnavailable: somebody does. kIo: something else is in the way.
[[nodiscard]] Result<void> PrepareSocket(const std::string& path);

}  // namespace profd::server
