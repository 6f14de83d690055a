#include "daemon/source/steps/answering_file.h"

#include <gtest/gtest.h>

#include "daemon/source/steps/executable_files.h"

namespace profd::source {
namespace {

constexpr const char* kMountInfo =
    "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
    "40 22 0:31 / /var/lib/docker/overlay2/a/merged rw master:3 propagate_from:2 - overlay overlay "
    "rw,lowerdir=/l\n"
    "nonsense\n"
    "41 22 0:33 / /mnt/x rw - fuse.sshfs host: rw\n";

TEST(AnsweringFile, AMountIsFoundByItsNumber) {
  EXPECT_EQ(FindMountById(kMountInfo, 22).type, "ext4");
  EXPECT_EQ(FindMountById(kMountInfo, 40).type, "overlay");
  EXPECT_EQ(FindMountById(kMountInfo, 40).device, "0:31");
  EXPECT_EQ(FindMountById(kMountInfo, 41).type, "fuse.sshfs");
  EXPECT_EQ(FindMountById(kMountInfo, 1).id, 0u);
  EXPECT_EQ(FindMountById("", 0).id, 0u);
}

TEST(AnsweringFile, AnotherNamespaceHasTheMountIfItsDeviceAndTypeAreThere) {
  EXPECT_TRUE(HasMountOf(kMountInfo, {7, "0:31", "overlay"}));
  EXPECT_FALSE(HasMountOf(kMountInfo, {7, "0:32", "overlay"}));
  EXPECT_FALSE(HasMountOf(kMountInfo, {7, "0:33", "overlay"}));
}

TEST(ExecutableFiles, EachFileIsListedOnce) {
  const auto files = ExecutableFilesOf(
      7,
      "7f00-7f10 r--p 00000000 fe:01 12                         /lib/liba.so\n"
      "7f10-7f20 r-xp 00010000 fe:01 12                         /lib/liba.so\n"
      "7f30-7f40 r-xp 00020000 fe:01 12                         /lib/liba.so\n"
      "7f40-7f50 r-xp 00000000 00:00 0                          [vdso]\n"
      "nonsense\n"
      "7f50-7f60 r-xp 00000000 fe:01 13                         /lib/with space (deleted)");
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].pid, 7u);
  EXPECT_EQ(files[0].begin, 0x7f10u);
  EXPECT_EQ(files[0].end, 0x7f20u);
  EXPECT_EQ(files[0].device_major, 0xfeu);
  EXPECT_EQ(files[0].inode, 12u);
  EXPECT_EQ(files[0].path, "/lib/liba.so");
  EXPECT_EQ(files[1].path, "/lib/with space");
}

}  // namespace
}  // namespace profd::source
