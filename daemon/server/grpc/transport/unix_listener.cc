#include "daemon/server/grpc/transport/unix_listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/server/grpc/auth/peer.h"

namespace profd::server {
namespace {

// True if a process accepts connections at the path.
Result<bool> Answers(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrorFromErrno(errno, "cannot make a socket");
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
    return true;
  if (errno == ECONNREFUSED) return false;
  if (errno == EAGAIN) return true;  // its backlog is full
  return ErrorFromErrno(errno, "cannot connect to " + path);
}

constexpr unsigned kOwnerOnly = 0600;

Result<void> GiveTo(const std::string& path, const std::string& group) {
  const auto id = GroupId(group);
  if (!id) return id.error();
  if (chown(path.c_str(), static_cast<uid_t>(-1), *id) == 0) return {};
  return ErrorFromErrno(errno, "cannot give " + path + " to group " + group);
}

Result<std::string> SocketPath(int fd) {
  sockaddr_un address{};
  socklen_t bytes = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes) != 0)
    return ErrorFromErrno(errno, "cannot ask for the address of a socket");
  const std::size_t length = bytes - offsetof(sockaddr_un, sun_path);
  return std::string(address.sun_path, strnlen(address.sun_path, length));
}

}  // namespace

Result<std::string> ParseSocketAddress(const std::string& text) {
  std::string path = text;
  for (const std::string_view scheme : {"unix://", "unix:"})
    if (path.starts_with(scheme)) {
      path.erase(0, scheme.size());
      break;
    }
  if (path == text && !path.starts_with('/'))
    return Error{ErrorCode::kInvalidArgument, "cannot listen at '" + text + "'",
                 "use unix:///PATH"};
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path))
    return Error{ErrorCode::kInvalidArgument,
                 "socket path '" + path + "' is not of 1 to " +
                     std::to_string(sizeof(sockaddr_un::sun_path) - 1) + " bytes",
                 ""};
  return path;
}

Result<void> PrepareSocket(const std::string& path) {
  const auto directory = std::filesystem::path(path).parent_path();
  if (!directory.empty()) {
    std::error_code failed;
    std::vector<std::filesystem::path> missing;
    for (auto at = directory; !at.empty() && !std::filesystem::exists(at, failed);
         at = at.parent_path())
      missing.push_back(at);
    std::filesystem::create_directories(directory, failed);
    if (failed) return ErrorFromErrno(failed.value(), "cannot make " + directory.string());
    // profd's umask keeps others out of new directories. The mode of the socket decides who may use
    // it, so the directories must let everybody through.
    for (const auto& made : missing)
      if (chmod(made.c_str(), 0755) != 0)
        return ErrorFromErrno(errno, "cannot set the mode of " + made.string());
  }
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0)
    return errno == ENOENT ? Result<void>{} : ErrorFromErrno(errno, "cannot examine " + path);
  if (!S_ISSOCK(info.st_mode))
    return Error{ErrorCode::kIo, path + " exists and is not a socket", "remove it"};
  const auto answers = Answers(path);
  if (!answers) return answers.error();
  if (*answers)
    return Error{ErrorCode::kUnavailable, "another profd listens at " + path,
                 "stop it, or choose another address with --listen"};
  if (unlink(path.c_str()) != 0) return ErrorFromErrno(errno, "cannot remove " + path);
  return {};
}

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
  // No client can connect before listen(). By then the socket has its group and mode.
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
      return Error{
          ErrorCode::kInvalidArgument,
          "descriptor " + std::to_string(fd) + " from systemd is not a listening unix socket",
          "see profd.socket"};
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
      return ErrorFromErrno(errno, "cannot use a socket that systemd has made");
    auto path = SocketPath(fd);
    if (!path) return path.error();
    sockets.insert_or_assign(*std::move(path), std::move(owned));
  }
  return sockets;
}

}  // namespace profd::server
