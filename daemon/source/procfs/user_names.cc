#include "daemon/source/procfs/user_names.h"

#include <sys/stat.h>

#include <charconv>
#include <fstream>

namespace profd::source {

std::string UserNames::NameOf(std::uint32_t uid) {
  const std::scoped_lock lock(mutex_);
  struct stat now {};
  if (::stat(file_.c_str(), &now) != 0) {
    names_.clear();
    changed_ = {};
  } else if (now.st_mtim.tv_sec != changed_.tv_sec || now.st_mtim.tv_nsec != changed_.tv_nsec) {
    changed_ = now.st_mtim;
    ReadAgain();
  }
  const auto found = names_.find(uid);
  return found == names_.end() ? std::string() : found->second;
}

void UserNames::ReadAgain() {
  names_.clear();
  std::ifstream in(file_);
  std::string line;
  for (std::size_t bytes = 0; bytes < kMaxFileBytes && std::getline(in, line);
       bytes += line.size() + 1)
    AddLine(line);
}

// "name:password:uid:..."; of several names for one uid the first counts.
void UserNames::AddLine(std::string_view line) {
  const auto name_end = line.find(':');
  if (name_end == std::string_view::npos || name_end == 0) return;
  const auto uid_begin = line.find(':', name_end + 1);
  if (uid_begin == std::string_view::npos) return;
  std::uint32_t uid = 0;
  const char* end = line.data() + line.size();
  const auto [rest, error] = std::from_chars(line.data() + uid_begin + 1, end, uid);
  if (error != std::errc{} || rest == end || *rest != ':') return;
  names_.try_emplace(uid, line.substr(0, name_end));
}

}  // namespace profd::source
