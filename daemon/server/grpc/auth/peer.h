// Peer: the process at the other end of a unix socket, as the kernel reports it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "daemon/base/result.h"

namespace profd::server {

// The credentials at the moment when the process connected. Nothing that it does later changes
// them.
struct Peer {
  uid_t uid = 0;
  gid_t gid = 0;
  pid_t pid = 0;  // 0: in a pid namespace that profd does not see
  std::vector<gid_t> groups;
};

[[nodiscard]] Result<Peer> GetPeer(int socket);

[[nodiscard]] bool IsIn(const Peer& peer, gid_t group);

// "": the host has no name for the user.
[[nodiscard]] std::string UserName(uid_t uid);

// kNotFound: the host has no such group.
[[nodiscard]] Result<gid_t> GroupId(const std::string& name);

}  // namespace profd::server
