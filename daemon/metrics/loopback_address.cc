#include "daemon/metrics/loopback_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

namespace profd::metrics {
namespace {

std::optional<std::uint16_t> Port(const std::string& text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return port;
}

template <typename Address>
LoopbackAddress Kept(const Address& address) {
  LoopbackAddress kept;
  std::memcpy(&kept.address, &address, sizeof(address));
  kept.bytes = sizeof(address);
  return kept;
}

}  // namespace

Result<LoopbackAddress> ParseLoopbackAddress(const std::string& text) {
  const Error unreadable{ErrorCode::kInvalidArgument, "cannot listen at '" + text + "'",
                         "use ADDRESS:PORT, such as 127.0.0.1:9899"};
  const Error reachable{ErrorCode::kInvalidArgument,
                        "'" + text + "' is no loopback address; metrics are for this host only",
                        "use 127.0.0.1:PORT or [::1]:PORT, and a collector or proxy on the host"};
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return unreadable;
  const auto port = Port(text.substr(colon + 1));
  if (!port) return unreadable;
  std::string host = text.substr(0, colon);
  if (host == "localhost") host = "127.0.0.1";
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(*port);
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    if (ntohl(v4.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET) return reachable;
    return Kept(v4);
  }
  if (host.size() < 2 || host.front() != '[' || host.back() != ']') return unreadable;
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(*port);
  if (inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6.sin6_addr) != 1)
    return unreadable;
  if (!IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr)) return reachable;
  return Kept(v6);
}

}  // namespace profd::metrics
