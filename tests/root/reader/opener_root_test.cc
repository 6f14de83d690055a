// What profd reads for a process of another user: no more than that user could.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "daemon/reader/opener.h"
#include "daemon/reader/sandbox.h"
#include "tests/support/eventually.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_folder.h"

namespace profd::reader {
namespace {

using profd::testing::Subprocess;

constexpr uid_t kUser = 65'534;
constexpr gid_t kGroup = 65'534;
constexpr gid_t kOther = 12'345;
using What = OpenRequest::What;

// As the systemd unit has it.
void GiveUpChangingUser() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  ::syscall(SYS_capget, &header, data.data());
  constexpr std::uint32_t kGivenUp = 1u << CAP_SETUID | 1u << CAP_SETGID;
  data[0].effective &= ~kGivenUp;
  data[0].permitted &= ~kGivenUp;
  ::syscall(SYS_capset, &header, data.data());
}

class OpenerRootTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  }
  // A process of an unprivileged user.
  [[nodiscard]] static Subprocess StartAsUser(const std::vector<std::string>& command) {
    auto program = Subprocess::Start(
        command, {.environment = {}, .working_directory = "/", .uid = kUser, .gid = kGroup});
    if (!program) ADD_FAILURE() << program.error().message;
    return *std::move(program);
  }
  // The same, when it has become that user.
  [[nodiscard]] static Subprocess StartSleeper() {
    auto program = StartAsUser({"sh", "-c", "echo ready && exec sleep 1000"});
    EXPECT_TRUE(program.ReadLine());
    return program;
  }
  [[nodiscard]] std::string WriteFile(const std::string& name, mode_t mode, uid_t owner,
                                      gid_t group) const {
    const std::string path = folder_.Write(name, "content");
    EXPECT_EQ(::chown(path.c_str(), owner, group), 0);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  static Result<OpenedFile> Open(What what, pid_t pid, const std::string& path) {
    return Opener().Open({.what = what, .pid = static_cast<std::uint32_t>(pid), .path = path});
  }

  const test::TempFolder folder_;
};

struct FileCase {
  const char* name;
  mode_t mode;
  uid_t owner;
  gid_t group;
  bool readable;
};

constexpr FileCase kFiles[] = {
    {"secret", 0600, 0, 0, false},           {"public", 0644, 0, 0, true},
    {"own", 0400, kUser, 0, true},           {"own-unreadable", 0044, kUser, 0, false},
    {"of-its-group", 0640, 0, kGroup, true}, {"of-another-group", 0640, 0, kOther, false}};

TEST_F(OpenerRootTest, TheKernelDecidesAsItWouldForTheUser) {
  auto program = StartSleeper();
  for (const FileCase& one : kFiles) {
    const std::string path = WriteFile(one.name, one.mode, one.owner, one.group);
    EXPECT_EQ(Open(What::kInRoot, program.pid(), path).ok(), one.readable) << one.name;
    EXPECT_EQ(Open(What::kOwned, program.pid(), path).ok(), one.readable && one.owner == kUser)
        << one.name;
  }
  // profd has its own rights again.
  EXPECT_TRUE(Open(What::kInRoot, ::getpid(), folder_.Path("secret")));
}

TEST_F(OpenerRootTest, WithoutTheRightToChangeItsUserTheModeDecidesTheSame) {
  auto program = StartSleeper();
  for (const FileCase& one : kFiles) (void)WriteFile(one.name, one.mode, one.owner, one.group);
  const std::string private_folder = folder_.Path("private");
  ASSERT_EQ(::mkdir(private_folder.c_str(), 0700), 0);
  const std::string hidden = WriteFile("private/public", 0644, 0, 0);
  const pid_t child = ::fork();
  if (child == 0) {
    GiveUpChangingUser();
    if (MayChangeUser() || !EnterOpenerSandbox({})) ::_exit(100);
    for (std::size_t i = 0; i < std::size(kFiles); ++i)
      if (Open(What::kInRoot, program.pid(), folder_.Path(kFiles[i].name)).ok() !=
          kFiles[i].readable)
        ::_exit(static_cast<int>(i) + 1);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_FALSE(Open(What::kInRoot, program.pid(), hidden)) << "its user may not enter the folder";
}

TEST_F(OpenerRootTest, AFileOfTheKernelIsNotReadInTheGuiseOfAPerfMap) {
  const std::string map = folder_.Write("perf.map", "");
  auto program =
      StartAsUser({"unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                   "mount --bind /proc/kmsg " + map + " && echo ready && exec sleep 1000"});
  const auto line = program.ReadLine();
  if (!line) GTEST_SKIP() << "no user namespaces for users here: " << program.Wait().err;
  ASSERT_EQ(*line, "ready\n");
  for (const What what : {What::kOwned, What::kInRoot}) {
    const auto file = Open(what, program.pid(), map);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, ErrorCode::kPermissionDenied);
    EXPECT_NE(file.error().message.find("not a file of a real file system"), std::string::npos)
        << file.error().message;
  }
}

TEST_F(OpenerRootTest, AFileOfRootIsNotReadInTheGuiseOfAPerfMap) {
  const std::string map = folder_.Write("perf.map", "");
  const std::string secret = WriteFile("secret", 0644, 0, 0);
  auto program =
      StartAsUser({"unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                   "mount --bind " + secret + " " + map + " && echo ready && exec sleep 1000"});
  if (!program.ReadLine())
    GTEST_SKIP() << "no user namespaces for users here: " << program.Wait().err;
  const auto file = Open(What::kOwned, program.pid(), map);
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("does not belong to its user"), std::string::npos)
      << file.error().message;
}

TEST_F(OpenerRootTest, ALinkOutOfItsRootLeadsNowhere) {
  auto program = StartSleeper();
  const std::string link = folder_.Link("link", "/proc/self/root/etc/shadow");
  EXPECT_FALSE(Open(What::kInRoot, program.pid(), link));
}

TEST_F(OpenerRootTest, WhatIsMappedExecutableIsReadAlsoWithoutTheRightToReadIt) {
  // A program that its user may run and not read.
  const std::string path = folder_.Path("sleep");
  ASSERT_EQ(profd::testing::Run({"cp", "/bin/sleep", path}).exit_code, 0);
  ASSERT_EQ(::chmod(path.c_str(), 0711), 0);
  auto program = StartAsUser({path, "1000"});
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  const auto found = [&] {
    const auto maps = ProcFs().Read(std::to_string(program.pid()) + "/maps");
    if (!maps) return false;
    for (std::size_t at = 0; at < maps->size(); at = maps->find('\n', at) + 1) {
      const std::string line = maps->substr(at, maps->find('\n', at) - at);
      if (line.ends_with(path) && line.find(" r-xp ") != std::string::npos)
        return std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) == 2;
    }
    return false;
  };
  ASSERT_TRUE(test::Eventually([&] { return found() || ::kill(program.pid(), 0) != 0; }));
  ASSERT_EQ(::kill(program.pid(), 0), 0) << "it has ended before it executed the program";
  EXPECT_FALSE(Open(What::kInRoot, program.pid(), path));
  EXPECT_TRUE(Opener().Open({.what = What::kMapped,
                             .pid = static_cast<std::uint32_t>(program.pid()),
                             .begin = begin,
                             .end = end}));
}

}  // namespace
}  // namespace profd::reader
