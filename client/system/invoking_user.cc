#include "client/system/invoking_user.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace profd::client {
namespace {

std::optional<unsigned> NumberFromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  const std::string_view text = value;
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<gid_t> GroupsOf(const std::string& name, gid_t gid) {
  constexpr int kMaxGroups = 65536;  // NGROUPS_MAX
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (::getgrouplist(name.c_str(), gid, groups.data(), &count) < 0) {
    if (count <= 0 || count > kMaxGroups) return {gid};
    groups.resize(static_cast<std::size_t>(count));
  }
  groups.resize(static_cast<std::size_t>(count));
  return groups;
}

}  // namespace

std::optional<InvokingUser> InvokingUser::FromEnvironment() {
  if (::geteuid() != 0) return std::nullopt;
  const auto uid = NumberFromEnvironment("SUDO_UID");
  const auto gid = NumberFromEnvironment("SUDO_GID");
  if (!uid || !gid || *uid == 0) return std::nullopt;
  InvokingUser user;
  user.uid = *uid;
  user.gid = *gid;
  user.groups = {user.gid};
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 16384> buffer;
  ::getpwuid_r(user.uid, &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) {
    user.name = entry.pw_name;
    user.home = entry.pw_dir;
    user.shell = entry.pw_shell;
    user.groups = GroupsOf(user.name, user.gid);
  }
  return user;
}

}  // namespace profd::client
