// profctl collect on a program that knows what it does: every format, every target, every mode.
#include <linux/magic.h>
#include <sys/vfs.h>

#include <bit>
#include <sstream>

#include "client/format/exporter.h"
#include "tests/e2e/collect/beside_phases.h"

namespace profd::e2e {
namespace {

class CollectTest : public BesidePhases<ProfctlTest> {};

TEST_F(CollectTest, NamesEveryPhaseInItsStateAndItsWaitReason) {
  const auto outcome = Profctl({"collect", "-p", pid_, "-d", "3", "-o", File("x.json")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto profile = ReadProfile(File("x.json"));

  EXPECT_GT(TimeIn(profile, "phases::Compute").on_cpu_ns, 0u);
  EXPECT_GT(TimeIn(profile, "phases::Sleep").blocked_ns[v1::WAIT_SLEEP], 0u);
  EXPECT_GT(TimeIn(profile, "phases::WaitForLock").blocked_ns[v1::WAIT_LOCK], 0u);
  EXPECT_GT(TimeIn(profile, "phases::ReadPipe").blocked_ns[v1::WAIT_PIPE], 0u);
  EXPECT_GT(TimeIn(profile, "phases::WaitForOrder").blocked_ns[v1::WAIT_LOCK], 0u);
  EXPECT_EQ(TimeIn(profile, "phases::Sleep").blocked_ns.count(v1::WAIT_LOCK), 0u);
}

TEST_F(CollectTest, AFileThatIsSyncedIsWaitedForAsIo) {
  struct statfs filesystem {};
  ASSERT_EQ(::statfs(directory_.c_str(), &filesystem), 0);
  if (filesystem.f_type == TMPFS_MAGIC) GTEST_SKIP() << "files of " << directory_ << " are memory";
  auto syncing = testing::Subprocess::Start({TestProgram("phases"), "--seconds", "600", "--file",
                                             File("always"), "--fsyncs", "100", "--compute", "1",
                                             "--sleep", "1", "--lock", "1", "--pipe", "1"});
  ASSERT_TRUE(syncing.ok());
  const auto outcome =
      Profctl({"collect", "-p", std::to_string(syncing->pid()), "-d", "2", "-o", File("x.json")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto time = TimeIn(ReadProfile(File("x.json")), "phases::WriteAndSync");
  ASSERT_EQ(time.blocked_ns.size(), 1u);
  EXPECT_EQ(time.blocked_ns.begin()->first, v1::WAIT_IO);
  EXPECT_GT(time.blocked_ns.begin()->second, 0u);
}

TEST_F(CollectTest, ThePartsOfEveryThreadAddUp) {
  const auto outcome = Profctl({"collect", "-p", pid_, "-d", "2", "-o", File("x.json")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto profile = ReadProfile(File("x.json"));

  ASSERT_GE(profile.threads_size(), 4);
  std::map<int, std::uint64_t> weights;
  const auto& samples = profile.samples();
  for (int i = 0; i < samples.time_ns_size(); ++i) {
    weights[static_cast<int>(samples.thread(i))] += samples.weight_ns(i);
  }
  for (int i = 0; i < profile.threads_size(); ++i) {
    const auto& thread = profile.threads(i);
    EXPECT_FALSE(thread.clock_missing());
    EXPECT_LE(std::abs(thread.closure_error()), 0.001) << thread.comm();
    EXPECT_EQ(weights[i], ClockSum(thread.clock())) << thread.comm();
  }
}

// Nothing can be done for a hundred-thousandth of a CPU: the periods must rise.
TEST_F(CollectTest, OverItsBudgetWaitsAreSampledMoreSeldomAndAllSumsStayExact) {
  const auto outcome =
      Profctl({"collect", "-p", pid_, "-d", "3", "--budget", "0.001%", "-o", File("x.json")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto profile = ReadProfile(File("x.json"));

  ASSERT_GE(profile.periods_size(), 2);
  EXPECT_EQ(profile.periods(0).off_cpu_period_ns(), profile.off_cpu_period_ns());
  const auto& last = profile.periods(profile.periods_size() - 1);
  EXPECT_GT(last.off_cpu_period_ns(), profile.off_cpu_period_ns());
  EXPECT_TRUE(std::has_single_bit(last.off_cpu_period_ns())) << "sampling points have no others";
  EXPECT_EQ(last.on_cpu_period_ns(), profile.on_cpu_period_ns()) << "that was requested";
  for (const auto& change : profile.periods()) {
    EXPECT_GE(change.time_ns(), profile.start_ns());
    EXPECT_LT(change.time_ns(), profile.end_ns());
  }
  std::map<int, std::uint64_t> weights;
  const auto& samples = profile.samples();
  for (int i = 0; i < samples.time_ns_size(); ++i)
    weights[static_cast<int>(samples.thread(i))] += samples.weight_ns(i);
  for (int i = 0; i < profile.threads_size(); ++i)
    EXPECT_EQ(weights[i], ClockSum(profile.threads(i).clock())) << profile.threads(i).comm();

  const auto summary = Profctl({"export", File("x.json"), "-f", "summary"});
  EXPECT_NE(summary.out.find("budget"), std::string::npos) << summary.out << summary.err;
}

TEST_F(CollectTest, WithoutABudgetThePeriodsStay) {
  const auto outcome =
      Profctl({"collect", "-p", pid_, "-d", "1", "--budget", "off", "-o", File("x.json")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(ReadProfile(File("x.json")).periods_size(), 0);
}

TEST_F(CollectTest, WritesEveryFormatInOneRunAndTheSameAgainFromJson) {
  const std::vector<std::string> names = {"x.folded", "x.svg", "x.speedscope.json", "x.pb.gz",
                                          "x.json"};
  std::vector<std::string> arguments = {"collect", "-p", pid_, "-d", "1"};
  for (const auto& name : names) {
    arguments.push_back("-o");
    arguments.push_back(File(name));
  }
  const auto outcome = Profctl(arguments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;

  EXPECT_NE(ReadFile(File("x.folded")).find("phases::Sleep"), std::string::npos);
  EXPECT_NE(ReadFile(File("x.svg")).find("<svg"), std::string::npos);
  for (const auto& name : {"folded", "svg", "speedscope", "pprof"}) {
    const auto again = Profctl({"export", File("x.json"), "-f", name, "-o", File(name)});
    ASSERT_EQ(again.exit_code, 0) << again.err;
  }
  EXPECT_EQ(ReadFile(File("folded")), ReadFile(File("x.folded")));
  EXPECT_EQ(ReadFile(File("svg")), ReadFile(File("x.svg")));
  EXPECT_EQ(ReadFile(File("speedscope")), ReadFile(File("x.speedscope.json")));
  EXPECT_EQ(ReadFile(File("pprof")), ReadFile(File("x.pb.gz")));
}

TEST_F(CollectTest, WritesFoldedIntoAPipe) {
  const auto outcome = Profctl({"collect", "-p", pid_, "-d", "1"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.rfind("phases (" + pid_ + ");", 0), 0u) << outcome.out.substr(0, 200);
  EXPECT_NE(outcome.out.find(";[blocked:sleep] "), std::string::npos);
  const auto threads = Profctl({"collect", "-p", pid_, "-d", "1", "--threads"});
  EXPECT_NE(threads.out.find("phases (" + pid_ + ");worker ("), std::string::npos);
}

TEST_F(CollectTest, OneThreadOnly) {
  const auto all = Profctl({"collect", "-p", pid_, "-d", "0.5", "-o", File("all.json")});
  ASSERT_EQ(all.exit_code, 0) << all.err;
  std::string tid;
  const auto everything = ReadProfile(File("all.json"));
  for (const auto& thread : everything.threads()) {
    if (thread.comm() == "worker") tid = std::to_string(thread.tid());
  }
  ASSERT_FALSE(tid.empty());
  const auto outcome = Profctl({"collect", "-t", tid, "-d", "1", "-o", File("x.json")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto profile = ReadProfile(File("x.json"));
  ASSERT_EQ(profile.threads_size(), 1);
  EXPECT_EQ(profile.threads(0).comm(), "worker");
}

TEST_F(CollectTest, ModesHoldOnlyTheirStates) {
  const auto on = Profctl({"collect", "-p", pid_, "-d", "1", "-m", "on", "-o", File("on.json")});
  const auto off = Profctl({"collect", "-p", pid_, "-d", "1", "-m", "off", "-o", File("off.json")});
  ASSERT_EQ(on.exit_code, 0) << on.err;
  ASSERT_EQ(off.exit_code, 0) << off.err;
  const auto on_profile = ReadProfile(File("on.json"));
  const auto off_profile = ReadProfile(File("off.json"));
  EXPECT_GT(on_profile.samples().time_ns_size(), 0);
  EXPECT_GT(off_profile.samples().time_ns_size(), 0);
  for (const int state : on_profile.samples().state()) EXPECT_EQ(state, v1::STATE_ON_CPU);
  for (const int state : off_profile.samples().state()) EXPECT_NE(state, v1::STATE_ON_CPU);
}

TEST_F(CollectTest, ByCommAndWholeMachine) {
  // A name that no other process has: tests beside this one run `phases`, too.
  const std::string name = "phases-" + std::to_string(::getpid());
  std::filesystem::create_symlink(TestProgram("phases"), File(name));
  auto named = testing::Subprocess::Start({File(name), "--seconds", "600", "--file", File("file")});
  ASSERT_TRUE(named) << named.error().message;
  const auto comm = Profctl({"collect", "--comm", name, "-d", "1", "-o", File("comm.json")});
  ASSERT_EQ(comm.exit_code, 0) << comm.err;
  const auto by_comm = ReadProfile(File("comm.json"));
  ASSERT_EQ(by_comm.processes_size(), 1);
  EXPECT_EQ(static_cast<pid_t>(by_comm.processes(0).pid()), named->pid());

  // A profd of this test's alone: the machine may run others.
  auto daemon = testing::Subprocess::Start(
      {Binary("profd"), "--listen", "unix:" + File("profd.sock")}, options_);
  ASSERT_TRUE(daemon) << daemon.error().message;
  ASSERT_TRUE(daemon->WaitForStderr("serving"));
  const auto all = Profctl(
      {"collect", "--host", "unix:" + File("profd.sock"), "-a", "-d", "1", "-o", File("all.json")});
  ASSERT_EQ(all.exit_code, 0) << all.err;
  std::set<std::string> comms;
  std::set<pid_t> pids;
  const auto everything = ReadProfile(File("all.json"));
  for (const auto& process : everything.processes()) {
    comms.insert(process.comm());
    pids.insert(static_cast<pid_t>(process.pid()));
  }
  EXPECT_EQ(comms.count("phases"), 1u);
  EXPECT_EQ(comms.count("profctl"), 1u);
  EXPECT_EQ(pids.count(daemon->pid()), 0u) << "profd must not sample itself unless requested";
}

TEST_F(CollectTest, SaysWhatItCost) {
  const auto outcome = Profctl({"collect", "-p", pid_, "-d", "1", "-o", File("x.json")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto profile = ReadProfile(File("x.json"));
  EXPECT_GT(profile.daemon_cpu_ns(), 0u);
  EXPECT_FALSE(profile.hook().empty());
  EXPECT_FALSE(profile.kernel().empty());
  EXPECT_GT(profile.off_cpu_period_ns(), 0u);
}

}  // namespace
}  // namespace profd::e2e
