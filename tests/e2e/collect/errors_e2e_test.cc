// Each error: the right exit code, one or two lines that say what, why and what to do, no file
// left.
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/e2e/profctl.h"

namespace profd::e2e {
namespace {

class ErrorsTest : public ProfctlTest {
 protected:
  // Runs and checks the manners that all errors share.
  void ExpectError(const std::vector<std::string>& arguments, int exit_code,
                   const std::string& fragment) const {
    const auto outcome = Profctl(arguments);
    std::string line;
    for (const auto& word : arguments) line += word + " ";
    SCOPED_TRACE(line + "\n" + outcome.err);
    EXPECT_EQ(outcome.exit_code, exit_code);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(fragment), std::string::npos);
    EXPECT_NE(outcome.err.find("profctl: "), std::string::npos);
    EXPECT_LE(std::ranges::count(outcome.err, '\n'), 3);
  }
};

// The largest pid the kernel hands out is below this.
constexpr const char* kNoSuchPid = "4194305";

TEST_F(ErrorsTest, Usage) {
  ExpectError({"collect", "-p", "1", "-d", "0"}, 2, "duration");
  ExpectError({"collect", "-p", "1", "-d", "-5"}, 2, "duration");
  ExpectError({"collect", "-p", "1", "-d", "99999d"}, 2, "duration");
  ExpectError({"collect", "-p", "1", "-d", "1000000000"}, 2, "duration");
  ExpectError({"collect", "-p", "banana"}, 2, "banana");
  ExpectError({"collect"}, 2, "-p");
  ExpectError({"collect", "-p", "1", "-a"}, 2, "-a");
  ExpectError({"collect", "-p", "1", "-f", "gif", "-o", File("x")}, 2, "gif");
  ExpectError({"collect", "-p", "1", "-m", "sideways"}, 2, "sideways");
  ExpectError({"colect", "-p", "1"}, 2, "collect");
  ExpectError({"collect", "-p", "1", "-F", "0"}, 2, "-F");
}

TEST_F(ErrorsTest, RateAboveTheKernelsLimit) {
  ExpectError({"collect", "-p", std::to_string(::getpid()), "-d", "1", "-F", "5000000"}, 2,
              "limit");
}

TEST_F(ErrorsTest, NoSuchTarget) {
  ExpectError({"collect", "-p", kNoSuchPid, "-d", "1"}, 3, "no such process");
  ExpectError({"collect", "-t", kNoSuchPid, "-d", "1"}, 3, "no such thread");
  ExpectError({"collect", "--cgroup", "/no/such/cgroup", "-d", "1"}, 3, "/no/such/cgroup");
  ExpectError({"collect", "--comm", "no-such-comm", "-d", "0.2"}, 3, "no-such-comm");
}

TEST_F(ErrorsTest, UnreachableDaemon) {
  ExpectError({"collect", "--host", "unix:" + File("none.sock"), "-p", "1", "-d", "1"}, 4,
              "none.sock");
  options_.environment["PROFD_HOST"] = "unix:" + File("other.sock");
  ExpectError({"collect", "-p", "1", "-d", "1"}, 4, "other.sock");
}

TEST_F(ErrorsTest, ACommandThatNobodyWatchesIsNotRun) {
  ExpectError({"collect", "--host", "unix:" + File("none.sock"), "--", "touch", File("run")}, 4,
              "none.sock");
  EXPECT_FALSE(std::filesystem::exists(File("run")));
}

TEST_F(ErrorsTest, UnprivilegedUser) {
  options_.uid = 65534;
  options_.gid = 65534;
  ExpectError({"collect", "-p", "1", "-d", "1"}, 5, "root");
}

TEST_F(ErrorsTest, OutputsThatCannotBeWritten) {
  const std::string own = std::to_string(::getpid());
  ExpectError({"collect", "-p", own, "-d", "1", "-o", "/no/such/directory/x.svg"}, 1,
              "/no/such/directory");
  std::filesystem::create_directory(File("folder.svg"));
  ExpectError({"collect", "-p", own, "-d", "1", "-o", File("folder.svg")}, 1, "directory");
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

TEST_F(ErrorsTest, NothingIsLeftBehindByAnError) {
  (void)Profctl({"collect", "-p", kNoSuchPid, "-d", "1", "-o", File("x.svg")});
  EXPECT_EQ(FilesLeft(), std::set<std::string>{});
}

TEST_F(ErrorsTest, ExportSaysWhatIsWrongWithItsInput) {
  ExpectError({"export", File("missing.json"), "-o", File("x.svg")}, 1, "missing.json");
  std::ofstream(File("bad.json")) << "{\"format\":\"other\"}";
  ExpectError({"export", File("bad.json"), "-o", File("x.svg")}, 1, "bad.json");
}

}  // namespace
}  // namespace profd::e2e
