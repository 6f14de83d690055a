#include "daemon/reader/opener.h"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "tests/support/temp_folder.h"

namespace profd::reader {
namespace {

constexpr std::string_view kStatus =
    "Name:\tbash\nPid:\t7\nUid:\t1000\t1001\t1002\t1003\nGid:\t100\t101\t102\t103\n"
    "Groups:\t4 24 1000 \nNSpid:\t7\n";

TEST(Identity, IsThatOfTheFileSystemAndTheGroups) {
  const auto who = ParseIdentity(kStatus);
  ASSERT_TRUE(who);
  EXPECT_EQ(who->uid, 1003u);
  EXPECT_EQ(who->gid, 103u);
  EXPECT_EQ(who->groups, (std::vector<std::uint32_t>{4, 24, 1000}));
}

TEST(Identity, AProcessWithoutGroupsHasNone) {
  const auto who = ParseIdentity("Uid:\t1\t1\t1\t1\nGid:\t2\t2\t2\t2\nGroups:\t \n");
  ASSERT_TRUE(who);
  EXPECT_TRUE(who->groups.empty());
}

TEST(Identity, AStatusThatDoesNotSayIsCorrupt) {
  for (const auto* status :
       {"", "Uid:\t1\t1\t1\nGid:\t2\t2\t2\t2\n", "Gid:\t2\t2\t2\t2\n", "Uid:\tx\n"})
    EXPECT_FALSE(ParseIdentity(status)) << status;
}

struct ModeCase {
  mode_t mode;
  std::uint32_t uid;
  std::uint32_t gid;
  bool has_list;
  bool allowed;
};

TEST(ModeAllowsReading, GoesByOwnerThenGroupThenOthers) {
  const Identity who{1000, 100, {4}};
  constexpr std::uint32_t kOther = 9;
  for (const ModeCase& one :
       {ModeCase{0400, 1000, kOther, false, true},
        ModeCase{0044, 1000, 100, false, false},  // the owner's bits alone count for the owner
        ModeCase{0040, kOther, 100, false, true}, ModeCase{0040, kOther, 4, false, true},
        ModeCase{0404, kOther, 4, false, false},  // nor do others' for a group
        ModeCase{0004, kOther, kOther, false, true}, ModeCase{0440, kOther, kOther, false, false},
        ModeCase{0044, kOther, 100, true, false},  // a list may say otherwise
        ModeCase{0400, 1000, kOther, true, true}}) {
    struct stat file {};
    file.st_mode = S_IFREG | one.mode;
    file.st_uid = one.uid;
    file.st_gid = one.gid;
    EXPECT_EQ(ModeAllowsReading(who, file, one.has_list), one.allowed) << std::oct << one.mode;
  }
  struct stat secret {};
  secret.st_mode = S_IFREG;
  secret.st_uid = kOther;
  EXPECT_TRUE(ModeAllowsReading(Identity{0, 0, {}}, secret, false));
}

TEST(IsKernelFileSystem, KnowsThoseThatActWhenTheyAreRead) {
  EXPECT_TRUE(IsKernelFileSystem(PROC_SUPER_MAGIC));
  EXPECT_TRUE(IsKernelFileSystem(TRACEFS_MAGIC));
  EXPECT_TRUE(IsKernelFileSystem(CGROUP2_SUPER_MAGIC));
  EXPECT_FALSE(IsKernelFileSystem(TMPFS_MAGIC));
  EXPECT_FALSE(IsKernelFileSystem(EXT4_SUPER_MAGIC));
  EXPECT_FALSE(IsKernelFileSystem(OVERLAYFS_SUPER_MAGIC));
  EXPECT_FALSE(IsKernelFileSystem(FUSE_SUPER_MAGIC));
}

TEST(Opener, OpensMemoryAndProcessFilesOfThisProcess) {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  const int truth = 4711;
  const auto memory = Opener().Open({.what = OpenRequest::What::kMemory, .pid = pid});
  ASSERT_TRUE(memory) << memory.error().message;
  int seen = 0;
  ASSERT_EQ(::pread(memory->fd.get(), &seen, sizeof seen,
                    static_cast<off_t>(reinterpret_cast<std::uintptr_t>(&truth))),
            static_cast<ssize_t>(sizeof seen));
  EXPECT_EQ(seen, truth);
  EXPECT_TRUE(Opener().Open({.what = OpenRequest::What::kProcess, .pid = pid, .path = "maps"}));
  for (const auto* path : {"", "/etc/passwd", "../self/maps", "cwd/x", "root/etc/passwd", "exe"})
    EXPECT_FALSE(Opener().Open({.what = OpenRequest::What::kProcess, .pid = pid, .path = path}))
        << path;
}

TEST(Opener, AFifoADeviceAndAProcFileAreNotOpened) {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  const test::TempFolder folder;
  const std::string fifo = folder.Path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const auto& path :
       {fifo, std::string("/dev/null"), std::string("/proc/version"), folder.path().string()})
    for (const auto what :
         {OpenRequest::What::kInRoot, OpenRequest::What::kOwned, OpenRequest::What::kOnHost})
      EXPECT_FALSE(Opener().Open({.what = what, .pid = pid, .path = path})) << path;
}

}  // namespace
}  // namespace profd::reader
