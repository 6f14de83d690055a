// Each error: the right exit code, one or two lines that say what, why and what to do, no file
// left.
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string_view>

#include "tests/e2e/profctl.h"

namespace profd::e2e {
namespace {

constexpr std::string_view kPrivate =
    "profctl: no profd is running: using a private one for this command\n";

class ErrorsTest : public ProfctlTest {
 protected:
  // Runs and checks the manners that all errors share: one line that says what and why, and, where
  // there is a `hint`, one that says what to do. Before them profctl may have said that it runs a
  // profd of its own, but not when a host is named.
  void ExpectError(const std::vector<std::string>& arguments, int exit_code,
                   const std::string& fragment, const std::string& hint) const {
    const bool host_named = std::ranges::find(arguments, "--host") != arguments.end() ||
                            !options_.environment.at("PROFD_HOST").empty();
    const auto outcome = Profctl(arguments);
    ExpectErrorOf(host_named ? outcome : AfterPrivate(outcome), exit_code, fragment, hint);
    if (!HasFailure()) return;
    std::string line;
    for (const auto& word : arguments) line += word + " ";
    ADD_FAILURE() << line;
  }
  [[nodiscard]] static testing::Outcome AfterPrivate(testing::Outcome outcome) {
    if (outcome.err.starts_with(kPrivate)) outcome.err.erase(0, kPrivate.size());
    return outcome;
  }
  static void ExpectErrorOf(const testing::Outcome& outcome, int exit_code,
                            const std::string& fragment, const std::string& hint) {
    SCOPED_TRACE(outcome.err);
    EXPECT_EQ(outcome.exit_code, exit_code);
    EXPECT_EQ(outcome.out, "");
    const std::string_view said = outcome.err;
    EXPECT_EQ(std::ranges::count(said, '\n'), hint.empty() ? 1 : 2);
    const std::size_t end = std::min(said.find('\n'), said.size());
    EXPECT_TRUE(said.starts_with("profctl: "));
    EXPECT_NE(said.substr(0, end).find(fragment), std::string_view::npos);
    if (hint.empty()) return;
    EXPECT_TRUE(said.substr(end).starts_with("\n  "));
    EXPECT_NE(said.substr(end).find(hint), std::string_view::npos);
  }
};

// The largest pid the kernel hands out is below this.
constexpr const char* kNoSuchPid = "4194305";

TEST_F(ErrorsTest, Usage) {
  const std::string durations = "write 500ms, 10s or 2h";
  const std::string targets = "name one of -p PID, -t TID, -a";
  ExpectError({"collect", "-p", "1", "-d", "0"}, 2, "between 1ms and 24h", durations);
  ExpectError({"collect", "-p", "1", "-d", "-5"}, 2, "between 1ms and 24h", durations);
  ExpectError({"collect", "-p", "1", "-d", "99999d"}, 2, "between 1ms and 24h", durations);
  ExpectError({"collect", "-p", "1", "-d", "10x"}, 2, "not a duration", durations);
  ExpectError({"collect", "-p", "1", "-d", "1000000000"}, 2, "between 1ms and 24h", durations);
  ExpectError({"collect", "-p", "banana"}, 2, "banana", "write -p 1234");
  ExpectError({"collect"}, 2, "no target", targets);
  ExpectError({"collect", "-p", "1", "-a"}, 2, "more than one kind of target", targets);
  ExpectError({"collect", "-p", "1", "-f", "gif", "-o", File("x")}, 2, "gif", "the formats are");
  ExpectError({"collect", "-p", "1", "-m", "sideways"}, 2, "sideways", "wall, on or off");
  ExpectError({"colect", "-p", "1"}, 2, "colect", "did you mean profctl collect?");
  ExpectError({"collect", "-p", "1", "-F", "0"}, 2, "-F 0", "the default is 99");
  ExpectError({"collect", "-p", "1", "-F", "5000000"}, 2, "-F 5000000", "the default is 99");
}

// The kernel may lower its limit meanwhile; it never raises it by itself.
TEST_F(ErrorsTest, RateAboveTheKernelsLimit) {
  std::uint64_t limit_hz = 0;
  std::ifstream("/proc/sys/kernel/perf_event_max_sample_rate") >> limit_hz;
  ASSERT_GT(limit_hz, 0u);
  const std::string above = std::to_string(limit_hz + 1);
  ExpectError({"collect", "-p", std::to_string(::getpid()), "-d", "1", "-F", above}, 2, above,
              limit_hz < 1'000'000 ? "perf_event_max_sample_rate" : "the default is 99");
}

TEST_F(ErrorsTest, NoSuchTarget) {
  ExpectError({"collect", "-p", kNoSuchPid, "-d", "1"}, 3, "no such process", "ps -e");
  ExpectError({"collect", "-t", kNoSuchPid, "-d", "1"}, 3, "no such thread", "ps -eL");
  ExpectError({"collect", "--cgroup", "/no/such/cgroup", "-d", "1"}, 3, "/no/such/cgroup",
              "/proc/PID/cgroup");
  ExpectError({"collect", "--comm", "no-such-comm", "-d", "0.2"}, 3, "no-such-comm", "ps -e");
}

TEST_F(ErrorsTest, UnreachableDaemon) {
  ExpectError({"collect", "--host", "unix:" + File("none.sock"), "-p", "1", "-d", "1"}, 4,
              "none.sock", "is profd running there?");
  options_.environment["PROFD_HOST"] = "unix:" + File("other.sock");
  ExpectError({"collect", "-p", "1", "-d", "1"}, 4, "other.sock", "is profd running there?");
}

TEST_F(ErrorsTest, ACommandThatIsNotProfiledIsNotRun) {
  ExpectError({"collect", "--host", "unix:" + File("none.sock"), "--", "touch", File("run")}, 4,
              "none.sock", "is profd running there?");
  EXPECT_FALSE(std::filesystem::exists(File("run")));
}

TEST_F(ErrorsTest, UnprivilegedUser) {
  options_.uid = 65534;
  options_.gid = 65534;
  ExpectError({"collect", "-p", "1", "-d", "1"}, 5, "root", "use sudo");
}

TEST_F(ErrorsTest, AKernelWithoutBtf) {
  auto command =
      Command({"collect", "-p", std::to_string(::getpid()), "-d", "1", "-o", File("x.svg")});
  command.insert(command.begin(), {"unshare", "--mount", "sh", "-c",
                                   "mount -t tmpfs none /sys/kernel/btf && exec \"$@\"", "sh"});
  ExpectErrorOf(AfterPrivate(testing::Run(command, options_)), 1, "this kernel has no BTF",
                "CONFIG_DEBUG_INFO_BTF=y");
  EXPECT_EQ(FilesLeft(), std::set<std::string>{});
}

TEST_F(ErrorsTest, OutputsThatCannotBeWritten) {
  const std::string own = std::to_string(::getpid());
  const std::string writable = "must exist and be writable";
  ExpectError({"collect", "-p", own, "-d", "1", "-o", "/no/such/directory/x.svg"}, 1,
              "/no/such/directory/x.svg: no such file or directory", writable);
  std::filesystem::create_directory(File("folder.svg"));
  ExpectError({"collect", "-p", own, "-d", "1", "-o", File("folder.svg")}, 1, "is a directory",
              "give a file name");
  // To root nothing else is unwritable.
  std::filesystem::create_directory(File("read_only"));
  ASSERT_EQ(::mount("none", File("read_only").c_str(), "tmpfs", MS_RDONLY, nullptr), 0);
  ExpectError({"collect", "-p", own, "-d", "1", "-o", File("read_only/x.svg")}, 1,
              "read_only/x.svg: read-only file system", writable);
  ASSERT_EQ(::umount(File("read_only").c_str()), 0);
}

TEST_F(ErrorsTest, AFullDiskLosesOnlyThatFile) {
  std::filesystem::create_directory(File("full"));
  ASSERT_EQ(::mount("none", File("full").c_str(), "tmpfs", 0, "size=8k"), 0);
  auto program =
      testing::Subprocess::Start({TestProgram("phases"), "--seconds", "30", "--file", File("s")});
  ASSERT_TRUE(program.ok());
  const auto outcome = Profctl({"collect", "-p", std::to_string(program->pid()), "-d", "1", "-o",
                                File("full/x.json"), "-o", File("good.json")});
  const bool left_behind = !std::filesystem::is_empty(File("full"));
  ASSERT_EQ(::umount(File("full").c_str()), 0);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("full/x.json"), std::string::npos) << outcome.err;
  EXPECT_FALSE(left_behind);
  EXPECT_GT(ReadProfile(File("good.json")).threads_size(), 0);
}

TEST_F(ErrorsTest, APrivateProfdIsSaidInOneLineUnlessQuiet) {
  auto program = testing::Subprocess::Start({"sleep", "600"});
  ASSERT_TRUE(program.ok());
  std::vector<std::string> arguments{
      "collect", "-p", std::to_string(program->pid()), "-d", "0.1", "-f", "folded"};
  auto outcome = Profctl(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, kPrivate);
  arguments.push_back("-q");
  outcome = Profctl(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
}

TEST_F(ErrorsTest, NothingIsLeftBehindByAnError) {
  (void)Profctl({"collect", "-p", kNoSuchPid, "-d", "1", "-o", File("x.svg")});
  EXPECT_EQ(FilesLeft(), std::set<std::string>{});
}

TEST_F(ErrorsTest, ExportSaysWhatIsWrongWithItsInput) {
  ExpectError({"export", File("missing.json"), "-o", File("x.svg")}, 1, "missing.json", "");
  std::ofstream(File("bad.json")) << "{\"format\":\"other\"}";
  ExpectError({"export", File("bad.json"), "-o", File("x.svg")}, 1, "bad.json", "-f json");
}

}  // namespace
}  // namespace profd::e2e
