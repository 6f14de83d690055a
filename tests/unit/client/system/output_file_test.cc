#include "client/system/output_file.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "daemon/base/unique_fd.h"
#include "tests/support/temp_folder.h"

namespace profd::client {
namespace {

OutputFile::Writer Writes(const std::string& text) {
  return [text](std::ostream& out) -> Result<void> {
    out << text;
    return {};
  };
}

class OutputFileTest : public ::testing::Test {
 protected:
  Result<std::uint64_t> Write(const std::string& path, const OutputFile::Writer& writer) {
    return OutputFile::Write(path, writer, std::nullopt, temp_files_);
  }

  test::TempFolder directory_;
  TempFiles temp_files_;
};

TEST_F(OutputFileTest, AppearsWithItsContentAndNothingElse) {
  const auto written = Write(directory_.Path("x.svg"), Writes("content"));
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(*written, 7u);
  EXPECT_EQ(directory_.Read("x.svg"), "content");
  EXPECT_EQ(directory_.Names(), std::set<std::string>{"x.svg"});
}

TEST_F(OutputFileTest, LargeContentIsWhole) {
  const std::string text(5'000'000, 'x');
  ASSERT_TRUE(Write(directory_.Path("x"), Writes(text)));
  EXPECT_EQ(directory_.Read("x"), text);
}

TEST_F(OutputFileTest, ReplacesWhatWasThere) {
  directory_.Write("x.svg", "a longer old content");
  ASSERT_TRUE(Write(directory_.Path("x.svg"), Writes("new")));
  EXPECT_EQ(directory_.Read("x.svg"), "new");
}

TEST_F(OutputFileTest, ModeFollowsTheUmask) {
  const mode_t old = ::umask(027);
  const auto written = Write(directory_.Path("x"), Writes("y"));
  ::umask(old);
  ASSERT_TRUE(written);
  struct stat status {};
  ASSERT_EQ(::stat(directory_.Path("x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(OutputFileTest, NoFileWhenTheWriterFails) {
  directory_.Write("x.svg", "old");
  const auto written = Write(directory_.Path("x.svg"), [](std::ostream& out) -> Result<void> {
    out << std::string(100'000, 'x');
    return Error{ErrorCode::kExhausted, "too much", "take less"};
  });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kExhausted);
  EXPECT_EQ(written.error().message, "cannot write " + directory_.Path("x.svg") + ": too much");
  EXPECT_EQ(written.error().hint, "take less");
  EXPECT_EQ(directory_.Read("x.svg"), "old");
  EXPECT_EQ(directory_.Names(), std::set<std::string>{"x.svg"});
}

TEST_F(OutputFileTest, FollowsLinks) {
  directory_.Write("target", "old");
  std::filesystem::create_symlink("target", directory_.Path("link"));
  ASSERT_TRUE(Write(directory_.Path("link"), Writes("new")));
  EXPECT_TRUE(std::filesystem::is_symlink(directory_.Path("link")));
  EXPECT_EQ(directory_.Read("target"), "new");
}

TEST_F(OutputFileTest, DevicesAreWrittenAndStayDevices) {
  EXPECT_TRUE(OutputFile::Check("/dev/null"));
  ASSERT_TRUE(Write("/dev/null", Writes("gone")));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  const auto full = Write("/dev/full", Writes("x"));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::kIo);
  EXPECT_NE(full.error().message.find("cannot write /dev/full: no space"), std::string::npos)
      << full.error().message;
}

TEST_F(OutputFileTest, CheckLeavesNothingBehind) {
  EXPECT_TRUE(OutputFile::Check(directory_.Path("x.svg")));
  EXPECT_TRUE(directory_.Names().empty());
  directory_.Write("x.svg", "old");
  EXPECT_TRUE(OutputFile::Check(directory_.Path("x.svg")));
  EXPECT_EQ(directory_.Read("x.svg"), "old");
}

TEST_F(OutputFileTest, CheckRefusesDirectoriesAndWhatHasNone) {
  std::filesystem::create_directory(directory_.Path("folder.svg"));
  for (const char* name : {"folder.svg", "folder.svg/", "missing/x.svg", "missing/"}) {
    const auto check = OutputFile::Check(directory_.Path(name));
    ASSERT_FALSE(check) << name;
    EXPECT_EQ(check.error().code, ErrorCode::kIo) << "not a target that is missing";
    EXPECT_NE(check.error().message.find(directory_.Path(name)), std::string::npos);
    EXPECT_NE(check.error().message.find("directory"), std::string::npos) << check.error().message;
  }
  directory_.Write("file", "");
  EXPECT_FALSE(OutputFile::Check(directory_.Path("file/x.svg")));
}

TEST_F(OutputFileTest, CheckFindsADirectoryThatMayNotBeWritten) {
  if (::geteuid() == 0) {
    // Permissions do not hold for root; a read-only file system does.
    std::filesystem::create_directory(directory_.Path("ro"));
    ASSERT_EQ(::mount("none", directory_.Path("ro").c_str(), "tmpfs", MS_RDONLY, "size=8k"), 0);
    const auto check = OutputFile::Check(directory_.Path("ro/x.svg"));
    ASSERT_EQ(::umount(directory_.Path("ro").c_str()), 0);
    ASSERT_FALSE(check);
    EXPECT_NE(check.error().message.find("read-only"), std::string::npos) << check.error().message;
    return;
  }
  std::filesystem::create_directory(directory_.Path("ro"));
  std::filesystem::permissions(directory_.Path("ro"), std::filesystem::perms::owner_read);
  EXPECT_FALSE(OutputFile::Check(directory_.Path("ro/x.svg")));
}

TEST_F(OutputFileTest, AFullDiskLeavesNothingBehind) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: a small file system is mounted";
  std::filesystem::create_directory(directory_.Path("full"));
  ASSERT_EQ(::mount("none", directory_.Path("full").c_str(), "tmpfs", 0, "size=8k"), 0);
  directory_.Write("full/x.svg", "old");
  const auto written = Write(directory_.Path("full/x.svg"), Writes(std::string(100'000, 'x')));
  const std::string old = directory_.Read("full/x.svg");
  std::size_t left = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(directory_.Path("full")))
    ++left;
  ASSERT_EQ(::umount(directory_.Path("full").c_str()), 0);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kIo);
  EXPECT_NE(written.error().message.find("full/x.svg: no space"), std::string::npos)
      << written.error().message;
  EXPECT_FALSE(written.error().hint.empty());
  EXPECT_EQ(old, "old");
  EXPECT_EQ(left, 1u);
}

TEST_F(OutputFileTest, BelongsToWhomeverStandsBehindSudo) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: only root gives files away";
  InvokingUser user;
  user.uid = 65534;
  user.gid = 65533;
  ASSERT_TRUE(OutputFile::Write(directory_.Path("x"), Writes("y"), user, temp_files_));
  struct stat status {};
  ASSERT_EQ(::stat(directory_.Path("x").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 65534u);
  EXPECT_EQ(status.st_gid, 65533u);
}

TEST_F(OutputFileTest, GivingUpRemovesThePartThatIsThere) {
  const auto written = Write(directory_.Path("x"), [&](std::ostream& out) -> Result<void> {
    out << "half" << std::flush;
    EXPECT_EQ(directory_.Names().size(), 1u);
    temp_files_.RemoveAll();  // as the second Ctrl-C does, which then ends the process
    EXPECT_TRUE(directory_.Names().empty());
    return Error{ErrorCode::kIo, "given up", ""};
  });
  EXPECT_FALSE(written);
  EXPECT_TRUE(directory_.Names().empty());
}

TEST(WriteToFdTest, AReaderThatIsGoneIsAnEmptyError) {
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  const UniqueFd write(fds[1]);
  ::close(fds[0]);
  const auto old = ::signal(SIGPIPE, SIG_IGN);
  const auto written = WriteToFd(write.get(), "standard output", Writes("x"));
  ::signal(SIGPIPE, old);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kIo);
  EXPECT_EQ(written.error().message, "");
}

TEST(TempFilesTest, FilesGoBeforeTheirDirectories) {
  test::TempFolder directory;
  TempFiles files;
  std::filesystem::create_directory(directory.Path("a"));
  directory.Write("a/b", "");
  directory.Write("kept", "");
  files.Add(directory.Path("a"));
  files.Add(directory.Path("a/b"));
  files.Add(directory.Path("kept"));
  files.Forget(directory.Path("kept"));
  files.RemoveAll();
  EXPECT_EQ(directory.Names(), std::set<std::string>{"kept"});
}

}  // namespace
}  // namespace profd::client
