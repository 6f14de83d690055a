#include "daemon/server/grpc/transport/listen_address.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "daemon/base/unique_fd.h"

namespace profd::server {
namespace {

// True when something accepts connections there.
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
    const bool made = std::filesystem::create_directories(directory, failed);
    if (failed) return ErrorFromErrno(failed.value(), "cannot make " + directory.string());
    // profd's umask keeps others out; whoever may use the socket must be able to reach it.
    if (made && chmod(directory.c_str(), 0755) != 0)
      return ErrorFromErrno(errno, "cannot set the mode of " + directory.string());
  }
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0)
    return errno == ENOENT ? Result<void>{} : ErrorFromErrno(errno, "cannot look at " + path);
  if (!S_ISSOCK(info.st_mode))
    return Error{ErrorCode::kIo, path + " is there and is not a socket", "remove it"};
  const auto answers = Answers(path);
  if (!answers) return answers.error();
  if (*answers)
    return Error{ErrorCode::kUnavailable, "another profd listens at " + path,
                 "stop it, or choose another address with --listen"};
  if (unlink(path.c_str()) != 0) return ErrorFromErrno(errno, "cannot remove " + path);
  return {};
}

}  // namespace profd::server
