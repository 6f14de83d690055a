#include "daemon/base/private_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/support/temp_folder.h"

namespace profd {
namespace {

constexpr uid_t kOther = 4'200'700;  // no user of a host has it

class PrivateFileTest : public testing::Test {
 protected:
  ~PrivateFileTest() override { ::umask(umask_); }
  static unsigned ModeOf(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777u : 0;
  }

  const mode_t umask_ = ::umask(0);
  const test::TempFolder folder_;
  const std::string path_ = folder_.Path("file");
};

TEST_F(PrivateFileTest, ANewFileIsForItsOwnerWhateverTheUmaskAndTheFolder) {
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  for (const mode_t umask : {0u, 022u, 0277u, 0777u}) {
    ::umask(umask);
    ASSERT_TRUE(MakePrivateFile(path_));
    EXPECT_EQ(ModeOf(path_), 0600u) << umask;
    std::filesystem::remove(path_);
  }
}

TEST_F(PrivateFileTest, AnOldFileKeepsItsContentsAndAtMostReadersOfItsGroup) {
  for (const auto& [before, after] : {std::pair{0644u, 0640u},
                                      {0666u, 0640u},
                                      {07777u, 0640u},
                                      {0606u, 0600u},
                                      {0640u, 0640u},
                                      {0600u, 0600u},
                                      {0400u, 0600u}}) {
    folder_.Write("file", "text");
    ASSERT_EQ(::chmod(path_.c_str(), before), 0);
    ASSERT_TRUE(MakePrivateFile(path_));
    EXPECT_EQ(ModeOf(path_), after) << before;
    EXPECT_EQ(std::filesystem::file_size(path_), 4u);
    std::filesystem::remove(path_);
  }
}

TEST_F(PrivateFileTest, WhatIsMissingIsNotMadeToKeepIt) {
  EXPECT_TRUE(KeepPrivateFile(path_));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(PrivateFileTest, LinksAndFifosAreRefused) {
  const std::string target = folder_.Path("target");
  folder_.Write("target", "text");
  ASSERT_EQ(::chmod(target.c_str(), 0644), 0);
  ASSERT_EQ(::symlink(target.c_str(), path_.c_str()), 0);
  for (const bool link : {true, false}) {
    if (!link) {
      ASSERT_EQ(::mkfifo(path_.c_str(), 0644), 0);
    }
    const auto made = MakePrivateFile(path_);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message, path_ + " is not a regular file");
    std::filesystem::remove(path_);
  }
  EXPECT_EQ(ModeOf(target), 0644u);
}

TEST_F(PrivateFileTest, AnotherUsersFileIsRefusedButForTheOwnerOfTheFolder) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give files to other users";
  folder_.Write("file", "");
  ASSERT_EQ(::chown(path_.c_str(), kOther, kOther), 0);
  const auto refused = MakePrivateFile(path_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().message, path_ + " belongs to uid " + std::to_string(kOther) +
                                         ", who would see what profd writes into it");
  ASSERT_EQ(::chown(folder_.path().c_str(), kOther, kOther), 0);
  EXPECT_TRUE(MakePrivateFile(path_));
}

}  // namespace
}  // namespace profd
