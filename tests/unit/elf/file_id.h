// IdOf: the identity of a file, as a mapping of it has it.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <string>

#include "daemon/elf/file/object_source.h"

namespace profd::elf::testing {

inline ObjectId IdOf(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  ObjectId id;
  id.path = path;
  id.device_major = major(status.st_dev);
  id.device_minor = minor(status.st_dev);
  id.inode = status.st_ino;
  return id;
}

}  // namespace profd::elf::testing
