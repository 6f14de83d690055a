// InvokingUser: who stands behind sudo.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace profd::client {

// Whom a command is run as and whom output files are given to. A passive value.
struct InvokingUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // all of them, `gid` included
  std::string name;
  std::string home;
  std::string shell;

  // From SUDO_UID, SUDO_GID and the user data base. Nothing when the process is not root or the
  // user behind sudo is.
  [[nodiscard]] static std::optional<InvokingUser> FromEnvironment();
};

}  // namespace profd::client
