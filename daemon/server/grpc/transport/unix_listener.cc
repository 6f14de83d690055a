#include "daemon/server/grpc/transport/unix_listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "daemon/server/grpc/auth/peer.h"
#include "daemon/server/grpc/transport/listen_address.h"

namespace profd::server {
namespace {

constexpr unsigned kOwnerOnly = 0600;

// What is to be said of the group; the error is why nobody of it can be let in.
Result<void> GiveTo(const std::string& path, const std::string& group) {
  const auto id = GroupId(group);
  if (!id) return id.error();
  if (chown(path.c_str(), static_cast<uid_t>(-1), *id) == 0) return {};
  return ErrorFromErrno(errno, "cannot give " + path + " to group " + group);
}

Result<std::string> PathOf(int fd) {
  sockaddr_un address{};
  socklen_t bytes = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes) != 0)
    return ErrorFromErrno(errno, "cannot ask for the address of a socket");
  const std::size_t length = bytes - offsetof(sockaddr_un, sun_path);
  return std::string(address.sun_path, strnlen(address.sun_path, length));
}

}  // namespace

Result<UnixListener> ListenAt(const std::string& path, unsigned mode, const std::string& group) {
  PROFD_TRY(PrepareSocket(path));
  UnixListener listener;
  listener.path = path;
  listener.fd.Reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.fd.valid()) return ErrorFromErrno(errno, "cannot make a socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const auto failed = [&] { return ErrorFromErrno(errno, "cannot listen at unix:" + path); };
  // Nobody can connect before listen(): by then it has its group and mode.
  if (bind(listener.fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return failed();
  listener.made = true;
  if (!group.empty()) {
    if (const auto given = GiveTo(path, group); !given) {
      listener.note = given.error().message;
      mode &= kOwnerOnly;
    }
  }
  if (chmod(path.c_str(), mode) != 0 || listen(listener.fd.get(), SOMAXCONN) != 0) return failed();
  return listener;
}

Result<InheritedSockets> TakeInheritedSockets() {
  InheritedSockets sockets;
  const int count = sd_listen_fds(1);
  if (count < 0) return ErrorFromErrno(-count, "cannot take the sockets that systemd has made");
  for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + count; ++fd) {
    UniqueFd owned(fd);
    if (sd_is_socket_unix(fd, SOCK_STREAM, 1, nullptr, 0) <= 0)
      return Error{ErrorCode::kInvalidArgument,
                   "descriptor " + std::to_string(fd) +
                       " that systemd hands over is no listening unix socket",
                   "see profd.socket"};
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
      return ErrorFromErrno(errno, "cannot use a socket that systemd has made");
    auto path = PathOf(fd);
    if (!path) return path.error();
    sockets.insert_or_assign(*std::move(path), std::move(owned));
  }
  return sockets;
}

}  // namespace profd::server
