// Programs that behave as a profd may: the protocol of a private daemon is its streams.
#include "client/link/private_daemon.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/temp_folder.h"

namespace profd::client {
namespace {

class PrivateDaemonTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<PrivateDaemon>> Start(const std::string& body) {
    sigset_t none;
    ::sigemptyset(&none);
    return PrivateDaemon::Start(directory_.Script("profd", body), none, console_, temp_files_);
  }
  Error Failed(const std::string& body) {
    const auto daemon = Start(body);
    EXPECT_FALSE(daemon);
    return daemon ? Error{} : daemon.error();
  }

  test::TempFolder directory_;
  TempFiles temp_files_;
  Console console_{Console::Options{.quiet = true, .palette = Palette()}};
};

TEST_F(PrivateDaemonTest, IsReadyWhenItSaysSoAndEndsWithItsStdin) {
  {
    const auto daemon = Start("echo \"$@\" > " + directory_.Path("arguments") +
                              "\necho ready\ncat\necho done > " + directory_.Path("ended") + "\n");
    ASSERT_TRUE(daemon) << daemon.error().message;
    EXPECT_EQ((*daemon)->HowItEnded(), "");
    EXPECT_EQ(directory_.Read("arguments"), "--private --listen " + (*daemon)->address() + "\n");
  }
  EXPECT_EQ(directory_.Read("ended"), "done\n") << "waited for";
}

TEST_F(PrivateDaemonTest, ItsSocketLiesWhereOnlyWeCanGo) {
  const auto daemon = Start("echo ready\ncat\n");
  ASSERT_TRUE(daemon);
  ASSERT_TRUE((*daemon)->address().starts_with("unix:/"));
  const std::filesystem::path socket = (*daemon)->address().substr(5);
  EXPECT_EQ(std::filesystem::status(socket.parent_path()).permissions(),
            std::filesystem::perms::owner_all);
  (*daemon)->RemoveDirectory();
  EXPECT_FALSE(std::filesystem::exists(socket.parent_path()));
}

TEST_F(PrivateDaemonTest, ItsErrorBecomesOurs) {
  const Error error = Failed(
      "echo '[12:00] starting' >&2\n"
      "echo 'profd: cannot load BPF programs: CAP_BPF is missing' >&2\n"
      "echo '  run it as root' >&2\nexit 5\n");
  EXPECT_EQ(error.code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(error.message, "cannot load BPF programs: CAP_BPF is missing");
  EXPECT_EQ(error.hint, "run it as root");
}

TEST_F(PrivateDaemonTest, ADeathWithoutAMessageIsReportedToo) {
  EXPECT_EQ(Failed("kill -SEGV $$\n").message, "the private profd was killed by signal 11");
  const Error error = Failed("echo something odd >&2\nexit 1\n");
  EXPECT_EQ(error.message, "the private profd ended with exit code 1");
  EXPECT_EQ(error.hint, "it said: something odd");
}

TEST_F(PrivateDaemonTest, WhatSpeaksAnotherLanguageIsNotTrusted) {
  EXPECT_EQ(Failed("echo hello there\ncat\n").code, ErrorCode::kUnavailable);
}

TEST_F(PrivateDaemonTest, AProgramThatIsNotThere) {
  sigset_t none;
  ::sigemptyset(&none);
  const auto daemon = PrivateDaemon::Start(directory_.Path("missing"), none, console_, temp_files_);
  ASSERT_FALSE(daemon);
  EXPECT_NE(daemon.error().message.find("missing"), std::string::npos);
}

TEST_F(PrivateDaemonTest, NothingIsLeftBehindByAFailure) {
  std::string said;
  (void)Failed("echo \"$3\" > " + directory_.Path("address") + "\nexit 1\n");
  said = directory_.Read("address");
  ASSERT_TRUE(said.starts_with("unix:/"));
  const std::filesystem::path socket = said.substr(5, said.size() - 6);
  EXPECT_FALSE(std::filesystem::exists(socket.parent_path()));
}

TEST_F(PrivateDaemonTest, ManyWordsDoNotBlockIt) {
  const auto daemon = Start("yes words | head -c 1000000 >&2\necho ready\ncat\n");
  EXPECT_TRUE(daemon);
}

TEST_F(PrivateDaemonTest, ReportsHowItEnded) {
  const auto daemon = Start("echo ready\nkill -KILL $$\n");
  ASSERT_TRUE(daemon);
  // It has said "ready" and dies: the event must come.
  while ((*daemon)->HowItEnded().empty()) {
  }
  EXPECT_EQ((*daemon)->HowItEnded(), "was killed by signal 9");
}

}  // namespace
}  // namespace profd::client
