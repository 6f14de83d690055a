// UnixListener: a unix socket that accepts connections, made by profd or by systemd.
#pragma once

#include <map>
#include <string>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"

namespace profd::server {

// Returns the path of "unix:PATH", "unix:///PATH" or "/PATH". kInvalidArgument: anything else.
[[nodiscard]] Result<std::string> ParseSocketAddress(const std::string& text);

// Makes the directory (mode 0755) if it is missing, and removes a socket that no process listens
// at. kUnavailable: a process listens there. kIo: the path is not a socket.
[[nodiscard]] Result<void> PrepareSocket(const std::string& path);

struct UnixListener {
  std::string path;
  UniqueFd fd;        // non-blocking
  bool made = false;  // profd has made it, and removes it at the end
  // How the socket differs from the request, such as "no group profd"; "": it does not.
  std::string note;
};

// Makes the socket (after PrepareSocket) with `mode` and gives it to `group`; "": no group. If the
// host does not have the group, or profd may not use it, only the owner has access, and `note` says
// so.
[[nodiscard]] Result<UnixListener> ListenAt(const std::string& path, unsigned mode,
                                            const std::string& group);

// Listening unix sockets by path.
using InheritedSockets = std::map<std::string, UniqueFd>;

// Takes the sockets that systemd has made (LISTEN_FDS). Call it once, while there are no other
// threads, because it changes the environment. kInvalidArgument: a descriptor is not a listening
// unix socket.
[[nodiscard]] Result<InheritedSockets> TakeInheritedSockets();

}  // namespace profd::server
