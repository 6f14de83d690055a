#include "daemon/elf/file/object_source.h"

namespace profd::elf {

std::string ObjectId::Key() const {
  return std::to_string(device_major) + ":" + std::to_string(device_minor) + ":" +
         std::to_string(inode) + ":" + path;
}

}  // namespace profd::elf
