// profctl collect -- CMD: from the first instruction, with the command's status, as the right user.
#include <sys/stat.h>

#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/e2e/profctl.h"

namespace profd::e2e {
namespace {

class CommandTest : public ProfctlTest {};

TEST_F(CommandTest, ReturnsTheCommandsStatus) {
  const auto outcome =
      Profctl({"collect", "-o", File("x.json"), "--", "sh", "-c", "sleep 0.2; exit 42"});
  EXPECT_EQ(outcome.exit_code, 42) << outcome.err;
  EXPECT_EQ(FilesLeft(), std::set<std::string>{"x.json"});
}

TEST_F(CommandTest, SaysWhichSignalEndedTheCommand) {
  const auto outcome =
      Profctl({"collect", "-o", File("x.json"), "--", "sh", "-c", "kill -SEGV $$"});
  EXPECT_EQ(outcome.exit_code, 128 + SIGSEGV) << outcome.err;
  EXPECT_NE(outcome.err.find("sh was ended by signal 11 (Segmentation fault)"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(FilesLeft(), std::set<std::string>{"x.json"});
}

TEST_F(CommandTest, ACommandThatCannotRunIs127Or126) {
  const auto missing = Profctl({"collect", "--", "/no/such/program"});
  EXPECT_EQ(missing.exit_code, 127);
  EXPECT_NE(missing.err.find("/no/such/program"), std::string::npos) << missing.err;
  std::ofstream(File("plain.txt")) << "not a program";
  EXPECT_EQ(Profctl({"collect", "--", File("plain.txt")}).exit_code, 126);
}

TEST_F(CommandTest, TheCommandsOutputIsItsOwn) {
  const auto outcome = Profctl({"collect", "-q", "-o", File("x.folded"), "--", "echo", "hello"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "hello\n");
}

// Time that the thread waited for a byte from a pipe before `before_ns`.
std::uint64_t PipeWaitNs(const v1::Profile& profile, int thread, std::uint64_t before_ns) {
  const v1::Samples& samples = profile.samples();
  std::uint64_t ns = 0;
  for (int i = 0; i < samples.time_ns_size(); ++i) {
    if (static_cast<int>(samples.thread(i)) == thread && samples.time_ns(i) < before_ns &&
        samples.wait(i) == v1::WAIT_PIPE)
      ns += samples.weight_ns(i);
  }
  return ns;
}

TEST_F(CommandTest, SeesItFromItsFirstInstructionToItsLast) {
  // The rate is such that the exec takes some periods.
  const auto outcome = Profctl({"collect", "-F", "20000", "-o", File("x.json"), "--",
                                TestProgram("truth"), "spin", "--ms", "500"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto profile = ReadProfile(File("x.json"));
  const auto truth = nlohmann::json::parse(outcome.out);
  // The main thread and the one that spins. Only the latter begins in the session: the former is
  // there at its start, waits at a pipe to be let go, and executes the program after that.
  ASSERT_EQ(profile.threads_size(), 2);
  const v1::Thread& main = profile.threads(0);
  EXPECT_EQ(main.tid(), truth.at("pid").get<std::uint32_t>());
  EXPECT_EQ(main.begin_ns(), profile.start_ns());
  EXPECT_FALSE(main.began());
  EXPECT_LT(main.begin_ns(), truth.at("begin_ns").get<std::uint64_t>());
  EXPECT_GT(PipeWaitNs(profile, 0, truth.at("begin_ns").get<std::uint64_t>()), 0u);
  EXPECT_GT(TimeIn(profile, "__x64_sys_execve").on_cpu_ns, 0u);
  EXPECT_GE(main.end_ns(), truth.at("end_ns").get<std::uint64_t>());
  EXPECT_TRUE(main.exited());
  // The thread that spins says how much of the CPU it has used until it said so.
  const v1::Thread& spinner = profile.threads(1);
  const auto& said = truth.at("threads").at(0);
  EXPECT_EQ(spinner.tid(), said.at("tid").get<std::uint32_t>());
  EXPECT_TRUE(spinner.began());
  EXPECT_GE(spinner.clock().on_cpu_ns(), said.at("cpu_ns").get<std::uint64_t>());
}

TEST_F(CommandTest, FollowsChildren) {
  const auto outcome =
      Profctl({"collect", "-o", File("x.json"), "--", "sh", "-c", "sleep 0.3 & sleep 0.2; wait"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto profile = ReadProfile(File("x.json"));
  // They are alike, and so short that they are one row.
  EXPECT_EQ(ProcessesCalled(profile, "sleep"), 2u);
}

// The kernel gives the thread the leader's tid, and ends the leader; each keeps its own clock.
TEST_F(CommandTest, AnExecByAnotherThreadThanTheFirst) {
  const std::string script = File("script.py");
  std::ofstream(script) << R"(import os, threading
def work():
    sum(i * i for i in range(1000000))
    os.execv('/bin/sleep', ['sleep', '0.3'])
thread = threading.Thread(target=work)
thread.start()
thread.join()
)";
  const auto outcome = Profctl({"collect", "-o", File("x.json"), "--", "/usr/bin/python3", script});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto profile = ReadProfile(File("x.json"));
  ASSERT_EQ(profile.processes_size(), 1);
  EXPECT_EQ(profile.processes(0).comm(), "sleep");
  ASSERT_EQ(profile.threads_size(), 2);
  for (const auto& thread : profile.threads()) {
    EXPECT_EQ(thread.tid(), profile.processes(0).pid());
    EXPECT_LE(std::abs(thread.closure_error()), 0.001) << thread.comm();
    EXPECT_TRUE(thread.exited());
  }
  const auto& first = profile.threads(0);
  const auto& other = profile.threads(1);
  EXPECT_EQ(other.comm(), "sleep");
  EXPECT_LT(first.end_ns(), other.end_ns()) << "the exec ended the first thread";
  EXPECT_GT(other.end_ns() - first.end_ns(), 300'000'000u) << "the sleep comes after the exec";
  EXPECT_GT(other.clock().blocked_interruptible_ns(), 300'000'000u);
  EXPECT_GT(other.begin_ns(), first.begin_ns());
}

TEST_F(CommandTest, UnderSudoItRunsAsTheInvokingUserAndGivesHimTheFiles) {
  options_.environment["SUDO_UID"] = "65534";
  options_.environment["SUDO_GID"] = "65534";
  options_.environment["SUDO_USER"] = "nobody";
  ASSERT_EQ(::chmod(directory_.c_str(), 0777), 0);
  const auto outcome = Profctl({"collect", "-q", "-o", File("x.folded"), "--", "id", "-u"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "65534\n");
  struct stat status {};
  ASSERT_EQ(::stat(File("x.folded").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 65534u);
}

}  // namespace
}  // namespace profd::e2e
