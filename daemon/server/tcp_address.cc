#include "daemon/server/tcp_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace profd::server {
namespace {

std::optional<std::uint16_t> Port(const std::string& text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return port;
}

template <typename Address>
TcpAddress ToTcpAddress(const Address& address) {
  TcpAddress tcp;
  std::memcpy(&tcp.address, &address, sizeof(address));
  tcp.bytes = sizeof(address);
  return tcp;
}

}  // namespace

Result<TcpAddress> ParseTcpAddress(const std::string& text) {
  const Error unreadable{ErrorCode::kInvalidArgument, "cannot listen at '" + text + "'",
                         "use ADDRESS:PORT, such as 127.0.0.1:9899 or [::1]:9899"};
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return unreadable;
  const auto port = Port(text.substr(colon + 1));
  if (!port) return unreadable;
  std::string host = text.substr(0, colon);
  if (host == "localhost") host = "127.0.0.1";
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(*port);
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) return ToTcpAddress(v4);
  if (host.size() < 2 || host.front() != '[' || host.back() != ']') return unreadable;
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(*port);
  if (inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6.sin6_addr) != 1)
    return unreadable;
  return ToTcpAddress(v6);
}

Result<TcpAddress> ParseLoopbackAddress(const std::string& text) {
  auto address = ParseTcpAddress(text);
  if (!address || IsLoopback(*address)) return address;
  return Error{ErrorCode::kInvalidArgument,
               "'" + text + "' is not a loopback address; metrics are for this host only",
               "use 127.0.0.1:PORT or [::1]:PORT, and a collector or proxy on the host"};
}

bool IsLoopback(const TcpAddress& address) {
  if (address.address.ss_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(
        &reinterpret_cast<const sockaddr_in6*>(&address.address)->sin6_addr);
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address.address);
  return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

Result<UniqueFd> ListenAt(const TcpAddress& address) {
  const auto* where = reinterpret_cast<const sockaddr*>(&address.address);
  UniqueFd fd(socket(where->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrorFromErrno(errno, "cannot make a socket");
  // A restarted profd must not wait for connections of the old one that are still in TIME_WAIT.
  const int yes = 1;
  (void)setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (bind(fd.get(), where, address.bytes) == 0 && listen(fd.get(), SOMAXCONN) == 0) return fd;
  auto error = ErrorFromErrno(errno, "cannot listen");
  if (errno == EADDRINUSE) error.code = ErrorCode::kUnavailable;
  return error;
}

std::uint16_t BoundPort(int fd) {
  TcpAddress bound;
  bound.bytes = sizeof(bound.address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&bound.address), &bound.bytes) != 0) return 0;
  // Both families have the port at the same offset.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&bound.address)->sin_port);
}

}  // namespace profd::server
