// UnixListener: a unix socket that takes connections.
#pragma once

#include <map>
#include <string>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"

namespace profd::server {

struct UnixListener {
  std::string path;
  UniqueFd fd;        // non-blocking
  bool made = false;  // by profd, which removes it in the end
  // How the socket differs from the request: "no group profd"; "" when all is.
  std::string note;
};

// Makes the socket (PrepareSocket) with `mode`, and gives it to `group` where that is not "" and
// the host has it; where it has not, or profd may not, only the owner has access and `note` says
// so.
[[nodiscard]] Result<UnixListener> ListenAt(const std::string& path, unsigned mode,
                                            const std::string& group);

// Listening unix sockets by path.
using InheritedSockets = std::map<std::string, UniqueFd>;

// Those that systemd has made and handed over (LISTEN_FDS). Once, while there are no other threads:
// what it leaves in the environment is for nobody else. Others than listening unix sockets are an
// error.
[[nodiscard]] Result<InheritedSockets> TakeInheritedSockets();

}  // namespace profd::server
