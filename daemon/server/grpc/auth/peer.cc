#include "daemon/server/grpc/auth/peer.h"

#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace profd::server {
namespace {

constexpr std::size_t kEntryBytes = 1u << 16;
constexpr std::size_t kMaxGroups = 1u << 16;  // NGROUPS_MAX

}  // namespace

Result<Peer> GetPeer(int socket) {
  ucred credentials{};
  socklen_t bytes = sizeof(credentials);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0)
    return ErrorFromErrno(errno, "cannot get the credentials of a client");
  Peer peer{credentials.uid, credentials.gid, credentials.pid, {}};
  // ERANGE returns the size that is needed, so the second round mostly succeeds.
  peer.groups.resize(64);
  while (true) {
    bytes = static_cast<socklen_t>(peer.groups.size() * sizeof(gid_t));
    if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &bytes) == 0) break;
    if (errno != ERANGE || bytes > kMaxGroups * sizeof(gid_t))
      return ErrorFromErrno(errno, "cannot get the groups of a client");
    peer.groups.resize(bytes / sizeof(gid_t));
  }
  peer.groups.resize(bytes / sizeof(gid_t));
  return peer;
}

bool IsIn(const Peer& peer, gid_t group) {
  return peer.gid == group || std::ranges::find(peer.groups, group) != peer.groups.end();
}

std::string UserName(uid_t uid) {
  std::vector<char> buffer(kEntryBytes);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return {};
  return found->pw_name;
}

Result<gid_t> GroupId(const std::string& name) {
  std::vector<char> buffer(kEntryBytes);
  group entry{};
  group* found = nullptr;
  const int failed = getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return found->gr_gid;
  return Error{failed == 0 ? ErrorCode::kNotFound : ErrorCode::kIo, "no group " + name, ""};
}

}  // namespace profd::server
