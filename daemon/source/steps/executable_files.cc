#include "daemon/source/steps/executable_files.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <string>

namespace profd::source {

std::vector<ExecutableFile> ExecutableFilesOf(std::uint32_t pid, std::string_view maps) {
  std::vector<ExecutableFile> files;
  while (!maps.empty()) {
    const auto newline = std::min(maps.find('\n'), maps.size());
    const std::string line(maps.substr(0, newline));
    maps.remove_prefix(std::min(newline + 1, maps.size()));
    ExecutableFile file{.pid = pid};
    std::array<char, 5> rights{};
    int path_at = 0;
    if (std::sscanf(line.c_str(),
                    "%" SCNx64 "-%" SCNx64 " %4c %*x %" SCNx32 ":%" SCNx32 " %" SCNu64 " %n",
                    &file.begin, &file.end, rights.data(), &file.device_major, &file.device_minor,
                    &file.inode, &path_at) < 6)
      continue;
    if (rights[2] != 'x' || file.inode == 0) continue;
    file.path = line.substr(std::min<std::size_t>(static_cast<std::size_t>(path_at), line.size()));
    constexpr std::string_view kDeleted = " (deleted)";
    if (file.path.ends_with(kDeleted)) file.path.resize(file.path.size() - kDeleted.size());
    const bool known = std::ranges::any_of(files, [&](const ExecutableFile& one) {
      return one.inode == file.inode && one.device_major == file.device_major &&
             one.device_minor == file.device_minor;
    });
    if (!known) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace profd::source
