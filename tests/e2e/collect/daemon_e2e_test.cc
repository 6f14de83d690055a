// A running profd: several clients, status, recordings and their replay.
#include <signal.h>

#include "tests/e2e/collect/beside_phases.h"
#include "tests/e2e/running_daemon.h"
#include "tests/support/eventually.h"

namespace profd::e2e {
namespace {

class DaemonTest : public BesidePhases<RunningDaemonTest> {};

TEST_F(DaemonTest, ServesSeveralSessionsAtOnceWithTheirOwnTargetsAndRates) {
  auto daemon = StartDaemon();
  ASSERT_TRUE(daemon.has_value());
  auto fine = StartProfctl(
      {"collect", "--host", host_, "-p", pid_, "-d", "2", "-F", "500", "-o", File("fine.json")});
  auto coarse = StartProfctl(
      {"collect", "--host", host_, "-a", "-d", "2", "-F", "50", "-o", File("coarse.json")});
  ASSERT_TRUE(fine.ok() && coarse.ok());
  for (auto* profctl : {&*fine, &*coarse}) {
    const auto outcome = profctl->Wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err.find("private"), std::string::npos) << outcome.err;
  }
  const auto fine_profile = ReadProfile(File("fine.json"));
  const auto coarse_profile = ReadProfile(File("coarse.json"));
  EXPECT_EQ(fine_profile.processes_size(), 1);
  EXPECT_GT(coarse_profile.processes_size(), 1);
  EXPECT_EQ(fine_profile.on_cpu_period_ns(), 2'000'000u);
  EXPECT_EQ(coarse_profile.on_cpu_period_ns(), 20'000'000u);
  EXPECT_EQ(fine_profile.off_cpu_period_ns(), 1u << 21) << "the nearest one";
  EXPECT_EQ(coarse_profile.off_cpu_period_ns(), 1u << 24);
  Stop(*daemon);
}

TEST_F(DaemonTest, StatusSaysHowItWorks) {
  auto daemon = StartDaemon();
  ASSERT_TRUE(daemon.has_value());
  const auto outcome = Profctl({"status", "--host", host_});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("hook"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("lost"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\nunwinding  "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(" of 64.0 MiB, "), std::string::npos) << outcome.out;
  Stop(*daemon);
}

TEST_F(DaemonTest, AClientThatVanishesEndsItsSession) {
  auto daemon = StartDaemon();
  ASSERT_TRUE(daemon.has_value());
  auto profctl = StartProfctl({"collect", "-v", "--host", host_, "-p", pid_, "-d", "1h"});
  ASSERT_TRUE(profctl.ok());
  ASSERT_TRUE(profctl->WaitForStderr("collecting").ok());
  const auto during = Profctl({"status", "--json", "--host", host_});
  EXPECT_NE(during.out.find("pid " + pid_), std::string::npos) << during.out;
  profctl->Signal(SIGKILL);
  (void)profctl->Wait();
  EXPECT_TRUE(test::Eventually([&] {
    return Profctl({"status", "--json", "--host", host_}).out.find("pid " + pid_) ==
           std::string::npos;
  })) << "the session of a killed client goes on";
  Stop(*daemon);
}

TEST_F(DaemonTest, ADaemonThatIsKilledIsAnErrorAndLeavesNoFile) {
  auto daemon = StartDaemon();
  ASSERT_TRUE(daemon.has_value());
  auto profctl = StartProfctl(
      {"collect", "-v", "--host", host_, "-p", pid_, "-d", "1h", "-o", File("x.json")});
  ASSERT_TRUE(profctl.ok());
  ASSERT_TRUE(profctl->WaitForStderr("collecting").ok());
  daemon->Signal(SIGKILL);
  const auto outcome = profctl->Wait();
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(File("x.json")));
}

// The program is the second process of a namespace; to the daemon it has another pid.
TEST_F(DaemonTest, APidIsThatOfTheCallersNamespace) {
  auto daemon = StartDaemon();
  ASSERT_TRUE(daemon.has_value());
  const auto outcome = testing::Run(
      {"unshare", "--pid", "--fork", "--mount-proc", "sh", "-c",
       "$0 --seconds 600 --file $1 & $2 collect --host $3 -p $! -d 1 -o $4", TestProgram("phases"),
       File("inside"), Binary("profctl"), host_, File("x.json")},
      options_);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto profile = ReadProfile(File("x.json"));
  ASSERT_EQ(profile.processes_size(), 1);
  EXPECT_EQ(profile.processes(0).comm(), "phases");
  EXPECT_EQ(profile.processes(0).pid(), 2u);
  Stop(*daemon);
}

TEST_F(DaemonTest, ASecondDaemonOnTheSameSocketIsRefused) {
  auto daemon = StartDaemon();
  ASSERT_TRUE(daemon.has_value());
  const auto second = testing::Run({Binary("profd"), "--listen", host_}, options_);
  EXPECT_EQ(second.exit_code, 1) << second.err;
  EXPECT_NE(second.err.find("profd.sock"), std::string::npos) << second.err;
  Stop(*daemon);
}

TEST_F(DaemonTest, ARecordingReplaysToTheSameProfileByteForByte) {
  {
    auto daemon = StartDaemon({"--record", File("run.profd")});
    ASSERT_TRUE(daemon.has_value());
    const auto outcome =
        Profctl({"collect", "--host", host_, "-p", pid_, "-d", "1", "-o", File("live.json")});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    Stop(*daemon);
  }
  const auto live = ReadProfile(File("live.json"));
  // The program has ended when the recording is replayed: the replay may read nothing of the
  // machine.
  program_.reset();
  options_.uid = 65534;
  options_.gid = 65534;
  std::filesystem::permissions(directory_, std::filesystem::perms::all);
  std::filesystem::permissions(File("run.profd"), std::filesystem::perms::all);
  for (const auto& name : {"first.json", "second.json"}) {
    auto daemon = StartDaemon({"--replay", File("run.profd")});
    ASSERT_TRUE(daemon.has_value());
    const auto outcome =
        Profctl({"collect", "--host", host_, "-p", pid_, "-d", "1h", "-o", File(name)});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    Stop(*daemon);
  }
  EXPECT_EQ(ReadFile(File("first.json")), ReadFile(File("second.json")));
  {
    auto daemon = StartDaemon({"--replay", File("run.profd")});
    ASSERT_TRUE(daemon.has_value());
    const auto outcome =
        Profctl({"collect", "--host", host_, "-p", pid_, "-d", "500ms", "-o", File("half.json")});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    Stop(*daemon);
  }
  const auto half = ReadProfile(File("half.json"));
  EXPECT_EQ(half.end_ns() - half.start_ns(), 500'000'000u);
  EXPECT_GT(TimeIn(half, "phases::Sleep").blocked_ns[v1::WAIT_SLEEP], 0u);
  const auto replayed = ReadProfile(File("first.json"));
  EXPECT_EQ(replayed.end_ns() - replayed.start_ns(), live.end_ns() - live.start_ns());
  EXPECT_GT(TimeIn(replayed, "phases::Sleep").blocked_ns[v1::WAIT_SLEEP], 0u);
  EXPECT_EQ(replayed.threads_size(), live.threads_size());
}

}  // namespace
}  // namespace profd::e2e
