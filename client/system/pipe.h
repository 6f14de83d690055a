// Pipe: both ends of a new pipe, closed on exec.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"

namespace profd::client {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

[[nodiscard]] inline Result<Pipe> MakePipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return ErrorFromErrno(errno, "cannot make a pipe");
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

}  // namespace profd::client
