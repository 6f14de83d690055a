#include "daemon/server/grpc/transport/unix_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "daemon/base/unique_fd.h"
#include "tests/support/temp_folder.h"

namespace profd::server {
namespace {

using testing::HasSubstr;

TEST(ParseSocketAddress, TakesUnixSockets) {
  EXPECT_EQ(*server::ParseSocketAddress("unix:///run/profd/profd.sock"), "/run/profd/profd.sock");
  EXPECT_EQ(*server::ParseSocketAddress("unix:relative.sock"), "relative.sock");
  EXPECT_EQ(*server::ParseSocketAddress("/tmp/x.sock"), "/tmp/x.sock");
}

TEST(ParseSocketAddress, RefusesEverythingElse) {
  for (const auto* text : {"", "unix:", "0.0.0.0:7711", "[::]:7711", "127.0.0.1:7711",
                           "localhost:1", "dns:///host:1", "relative.sock"}) {
    const auto path = server::ParseSocketAddress(text);
    ASSERT_FALSE(path.ok()) << text;
    EXPECT_EQ(path.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_THAT(server::ParseSocketAddress("unix:/" + std::string(200, 'x')).error().message,
              HasSubstr("1 to 107 bytes"));
}

class PrepareSocketTest : public testing::Test {
 protected:
  UniqueFd Bind() const {
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.c_str(), path_.native().size() + 1);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }

  const test::TempFolder folder_;
  const std::filesystem::path path_ = folder_.Path("run/profd.sock");
};

TEST_F(PrepareSocketTest, MakesTheDirectory) {
  ASSERT_TRUE(server::PrepareSocket(path_).ok());
  struct stat info {};
  ASSERT_EQ(stat(path_.parent_path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777u, 0755u);
  EXPECT_TRUE(server::PrepareSocket(path_).ok());
}

TEST_F(PrepareSocketTest, EveryDirectoryThatItMakesLetsUsersThrough) {
  const mode_t before = ::umask(0077);
  const auto made = server::PrepareSocket(folder_.Path("a/b/profd.sock"));
  ::umask(before);
  ASSERT_TRUE(made.ok());
  for (const char* name : {"a", "a/b"}) {
    struct stat info {};
    ASSERT_EQ(stat(folder_.Path(name).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777u, 0755u) << name;
  }
}

TEST_F(PrepareSocketTest, RemovesWhatADeadDaemonLeft) {
  ASSERT_TRUE(server::PrepareSocket(path_).ok());
  Bind().Reset();
  ASSERT_TRUE(std::filesystem::exists(path_));
  EXPECT_TRUE(server::PrepareSocket(path_).ok());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(PrepareSocketTest, LeavesALiveOneAlone) {
  ASSERT_TRUE(server::PrepareSocket(path_).ok());
  const auto fd = Bind();
  ASSERT_EQ(listen(fd.get(), 1), 0);
  const auto prepared = server::PrepareSocket(path_);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(PrepareSocketTest, LeavesOtherFilesAlone) {
  ASSERT_TRUE(server::PrepareSocket(path_).ok());
  std::ofstream(path_) << "precious";
  const auto prepared = server::PrepareSocket(path_);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().code, ErrorCode::kIo);
  EXPECT_EQ(std::filesystem::file_size(path_), 8u);
}

}  // namespace
}  // namespace profd::server
