// Peer: who is at the other end of a unix socket, as the kernel says.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "daemon/base/result.h"

namespace profd::server {

// As of the moment it connected; nothing that it does later changes these.
struct Peer {
  uid_t uid = 0;
  gid_t gid = 0;
  pid_t pid = 0;  // 0: in a pid namespace that profd does not see
  std::vector<gid_t> groups;
};

[[nodiscard]] Result<Peer> PeerOf(int socket);

[[nodiscard]] bool IsIn(const Peer& peer, gid_t group);

// "" when the host does not name it.
[[nodiscard]] std::string UserName(uid_t uid);

// kNotFound when there is none such.
[[nodiscard]] Result<gid_t> GroupId(const std::string& name);

}  // namespace profd::server
