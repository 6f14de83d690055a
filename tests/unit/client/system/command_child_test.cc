#include "client/system/command_child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <future>

#include "client/system/exit_code.h"
#include "tests/support/temp_folder.h"

namespace profd::client {
namespace {

std::unique_ptr<CommandChild> Forked(const std::vector<std::string>& command,
                                     const std::optional<InvokingUser>& user = std::nullopt) {
  sigset_t none;
  ::sigemptyset(&none);
  auto child = CommandChild::Fork(command, user, none);
  EXPECT_TRUE(child) << (child ? "" : child.error().message);
  return child ? *std::move(child) : nullptr;
}

int StatusOf(CommandChild& child) { return ExitCodeOfWaitStatus(child.Wait()); }

TEST(CommandChildTest, RunsAndReturnsItsStatus) {
  const auto child = Forked({"sh", "-c", "exit 42"});
  ASSERT_TRUE(child->Release());
  EXPECT_EQ(StatusOf(*child), 42);
  EXPECT_EQ(StatusOf(*child), 42) << "can be read again";
}

TEST(CommandChildTest, RunsNothingBeforeItsRelease) {
  const test::TempFolder directory;
  {
    const auto child = Forked({"touch", directory.Path("ran")});
    EXPECT_EQ(::kill(child->pid(), 0), 0) << "it is there, and may be looked at";
  }
  EXPECT_TRUE(directory.Names().empty());
}

TEST(CommandChildTest, ReportsThatItEnded) {
  const auto child = Forked({"true"});
  std::promise<void> ended;
  child->Watch([&] { ended.set_value(); });
  ASSERT_TRUE(child->Release());
  ended.get_future().wait();
  EXPECT_EQ(StatusOf(*child), 0);
}

TEST(CommandChildTest, SaysWhyItCannotRun) {
  const test::TempFolder directory;
  directory.Write("plain.txt", "not a program");
  const auto missing = Forked({"/no/such/program"})->Release();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "cannot run /no/such/program: no such file or directory");
  const auto plain = Forked({directory.Path("plain.txt")})->Release();
  ASSERT_FALSE(plain);
  EXPECT_EQ(plain.error().code, ErrorCode::kPermissionDenied);
  const auto folder = Forked({directory.path()})->Release();
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().code, ErrorCode::kNotFound);
}

TEST(CommandChildTest, IsKilledBySignalsWhichItsStatusShows) {
  const auto child = Forked({"sleep", "1000"});
  ASSERT_TRUE(child->Release());
  child->Kill(SIGTERM);
  EXPECT_EQ(StatusOf(*child), 128 + SIGTERM);
  child->Kill(SIGTERM);  // to no process
}

TEST(CommandChildTest, GetsTheSignalMaskAndDispositionsBack) {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGINT);
  sigset_t old;
  ::sigprocmask(SIG_BLOCK, &stop, &old);
  const auto child = Forked({"grep", "-Eq", "^SigBlk:\\s0+$", "/proc/self/status"});
  const auto pipe = Forked({"sh", "-c", "kill -PIPE $$"});
  ::sigprocmask(SIG_SETMASK, &old, nullptr);
  ASSERT_TRUE(child->Release());
  ASSERT_TRUE(pipe->Release());
  EXPECT_EQ(StatusOf(*child), 0);
  EXPECT_EQ(StatusOf(*pipe), 128 + SIGPIPE);
  ::signal(SIGPIPE, SIG_DFL);
}

TEST(CommandChildTest, DropsToTheInvokingUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: only root can become another user";
  InvokingUser user;
  user.uid = 65534;
  user.gid = 65533;
  user.groups = {65533, 65532};
  user.name = "someone-else";
  user.home = "/nonexistent";
  user.shell = "/bin/false";
  ::setenv("SUDO_UID", "65534", 1);
  const auto child = Forked(
      {"sh", "-c",
       "test \"$(id -u) $(id -g) $(id -G)\" = '65534 65533 65533 65532' && "
       "test \"$HOME $USER $LOGNAME $SHELL\" = '/nonexistent someone-else someone-else /bin/false' "
       "&& test -z \"$SUDO_UID\""},
      user);
  ::unsetenv("SUDO_UID");
  ASSERT_TRUE(child->Release());
  EXPECT_EQ(StatusOf(*child), 0);
}

TEST(FindProgramTest, AsTheShellDoes) {
  const test::TempFolder directory;
  const std::string tool = directory.Script("bin/tool", "exit 0\n");
  EXPECT_EQ(FindProgram("tool", "/no/where:" + directory.Path("bin")), tool);
  EXPECT_EQ(FindProgram("tool", "/no/where"), "");
  EXPECT_EQ(FindProgram(tool, ""), tool);
  EXPECT_EQ(FindProgram("/no/such", "/bin"), "");
  EXPECT_EQ(FindProgram("bin", directory.path()), "") << "a directory is no program";
}

}  // namespace
}  // namespace profd::client
