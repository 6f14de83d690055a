// All the ways in which a collection ends: Ctrl-C, a second one, a target or a daemon that dies.
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/e2e/collect/beside_phases.h"
#include "tests/support/eventually.h"

namespace profd::e2e {
namespace {

class EndingTest : public BesidePhases<ProfctlTest> {
 protected:
  // With -v profctl says on stderr when the session has started.
  [[nodiscard]] std::optional<testing::Subprocess> StartCollection(
      std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"collect", "-v", "-p", pid_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    auto profctl = StartProfctl(arguments);
    EXPECT_TRUE(profctl.ok());
    if (!profctl) return std::nullopt;
    const auto started = profctl->WaitForStderr("collecting");
    EXPECT_TRUE(started.ok()) << (started ? "" : started.error().message);
    return std::optional<testing::Subprocess>(std::move(*profctl));
  }
  // Pids of the children of `parent`, by /proc.
  [[nodiscard]] static std::vector<pid_t> ChildrenOf(pid_t parent) {
    std::vector<pid_t> children;
    std::ifstream list("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) +
                       "/children");
    pid_t child = 0;
    while (list >> child) children.push_back(child);
    return children;
  }

  // The private profd of this one; -1: it has none, or several, which has failed.
  [[nodiscard]] static pid_t DaemonOf(const testing::Subprocess& profctl) {
    const auto daemons = ChildrenOf(profctl.pid());
    EXPECT_EQ(daemons.size(), 1u);
    return daemons.size() == 1 ? daemons[0] : -1;
  }
  [[nodiscard]] static UniqueFd OpenProcess(pid_t pid) {
    return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  }
  static void AwaitEnd(const UniqueFd& process) {
    constexpr int kLimitMs = 60'000;
    pollfd ended{process.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&ended, 1, kLimitMs), 1) << "the process did not end within a minute";
  }

  // Whether SIGSTOP has stopped all its threads.
  [[nodiscard]] static bool IsStopped(pid_t pid) {
    for (const auto& task :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
      const std::string stat = ReadFile(task.path() / "stat");
      if (stat.find(") T ") == std::string::npos) return false;
    }
    return true;
  }
};

TEST_F(EndingTest, CtrlCEndsEarlyAndWrites) {
  auto profctl = StartCollection({"-d", "1h", "-o", File("x.json")});
  ASSERT_TRUE(profctl.has_value());
  profctl->Signal(SIGINT);
  const auto outcome = profctl->Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto profile = ReadProfile(File("x.json"));
  EXPECT_GE(profile.threads_size(), 4);
  EXPECT_LT(profile.end_ns() - profile.start_ns(), 3'600'000'000'000u);
}

TEST_F(EndingTest, TerminationWritesToo) {
  auto profctl = StartCollection({"-d", "1h", "-o", File("x.folded")});
  ASSERT_TRUE(profctl.has_value());
  profctl->Signal(SIGTERM);
  EXPECT_EQ(profctl->Wait().exit_code, 0);
  EXPECT_NE(ReadFile(File("x.folded")), "");
}

TEST_F(EndingTest, ATargetThatExitsGivesTheProfileOfWhatThereWas) {
  auto profctl = StartCollection({"-d", "1h", "-o", File("x.json")});
  ASSERT_TRUE(profctl.has_value());
  program_->Signal(SIGKILL);
  (void)program_->Wait();
  const auto outcome = profctl->Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("exited"), std::string::npos) << outcome.err;
  const auto profile = ReadProfile(File("x.json"));
  ASSERT_EQ(profile.processes_size(), 1);
  EXPECT_TRUE(profile.processes(0).exited());
}

TEST_F(EndingTest, ADaemonThatDiesIsAnErrorAndLeavesNoFile) {
  auto profctl = StartCollection({"-d", "1h", "-o", File("x.json")});
  ASSERT_TRUE(profctl.has_value());
  const pid_t daemon = DaemonOf(*profctl);
  ASSERT_GT(daemon, 0);
  ASSERT_EQ(::kill(daemon, SIGKILL), 0);
  const auto outcome = profctl->Wait();
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(File("x.json")));
}

// A daemon that does not answer cannot keep profctl: the first Ctrl-C requests the end, the second
// one ends profctl.
TEST_F(EndingTest, ASecondCtrlCGivesUpWhatWasCollected) {
  auto profctl = StartCollection({"-d", "1h", "-o", File("x.json")});
  ASSERT_TRUE(profctl.has_value());
  const pid_t pid = DaemonOf(*profctl);
  ASSERT_GT(pid, 0);
  const UniqueFd daemon = OpenProcess(pid);
  ASSERT_TRUE(daemon.valid());
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  ASSERT_TRUE(test::Eventually([&] { return IsStopped(pid); }));
  profctl->Signal(SIGINT);
  const auto requested = profctl->WaitForStderr("ending the collection");
  ASSERT_TRUE(requested.ok()) << requested.error().message;
  profctl->Signal(SIGINT);
  const auto outcome = profctl->Wait();
  EXPECT_EQ(outcome.exit_code, 128 + SIGINT) << outcome.err;
  auto left = FilesLeft();
  left.erase("synced");  // of the program
  EXPECT_EQ(left, std::set<std::string>{});
  // It is stopped and continued. Then it finds that profctl has ended.
  ::syscall(SYS_pidfd_send_signal, daemon.get(), SIGCONT, nullptr, 0);
  AwaitEnd(daemon);
}

TEST_F(EndingTest, AKilledProfctlLeavesNoDaemonBehind) {
  auto profctl = StartCollection({"-d", "1h", "-o", File("x.json")});
  ASSERT_TRUE(profctl.has_value());
  const pid_t pid = DaemonOf(*profctl);
  ASSERT_GT(pid, 0);
  const UniqueFd daemon = OpenProcess(pid);
  ASSERT_TRUE(daemon.valid());
  profctl->Signal(SIGKILL);
  (void)profctl->Wait();
  AwaitEnd(daemon);
}

TEST_F(EndingTest, ProfctlLeavesTheTargetUntouched) {
  const auto outcome = Profctl({"collect", "-p", pid_, "-d", "0.5", "-o", File("x.json")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string status = ReadFile("/proc/" + pid_ + "/status");
  EXPECT_NE(status.find("TracerPid:\t0"), std::string::npos);
}

}  // namespace
}  // namespace profd::e2e
