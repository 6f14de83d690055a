// HostPort: HOST[:PORT], as addresses and lists of hosts have it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace profd {

struct HostPort {
  std::string host;        // with the brackets of an address of IPv6
  std::uint16_t port = 0;  // 0: none is named
};

// Of "web1", "web1:8123" and "[::1]:8123". A name has letters, digits and ._- alone, so it may
// stand in a URL as it is. None: it is wrong, or the port is not from 1 to 65535.
[[nodiscard]] std::optional<HostPort> ParseHostPort(std::string_view text);

}  // namespace profd
