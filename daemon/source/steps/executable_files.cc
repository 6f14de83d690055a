#include "daemon/source/steps/executable_files.h"

#include <algorithm>
#include <string>

#include "daemon/base/proc/maps_parser.h"

namespace profd::source {

std::vector<ExecutableFile> ExecutableFilesOf(std::uint32_t pid, std::string_view maps) {
  std::vector<ExecutableFile> files;
  ParseMaps(maps, [&](MapsLine&& line) {
    if (!line.executable || line.inode == 0) return;
    const bool known = std::ranges::any_of(files, [&](const ExecutableFile& one) {
      return one.inode == line.inode && one.device_major == line.device_major &&
             one.device_minor == line.device_minor;
    });
    if (known) return;
    files.push_back({.pid = pid,
                     .begin = line.start,
                     .end = line.end,
                     .device_major = line.device_major,
                     .device_minor = line.device_minor,
                     .inode = line.inode,
                     .path = std::string(WithoutDeleted(line.path))});
  });
  return files;
}

}  // namespace profd::source
