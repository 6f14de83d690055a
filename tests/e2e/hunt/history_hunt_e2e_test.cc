// The history in hook mode keeps on whom threads wait: what it says afterwards of a chain of three
// has the shares that the threads' own clocks give.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/format/json.h"
#include "daemon/base/clock.h"
#include "tests/accuracy/whom_suite.h"
#include "tests/support/eventually.h"
#include "tests/support/host_time.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_folder.h"

namespace profd::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Binary(const std::string& name) { return test::BinaryDirectory() + "/bin/" + name; }
std::string TestProgram(const std::string& name) {
  return test::BinaryDirectory() + "/testprogs/" + name;
}

// A profd with a history in hook mode, and programs that run meanwhile.
class HistoryHunt : public accuracy::WhomTest {
 protected:
  void TearDown() override {
    if (!daemon_) return;
    daemon_->Signal(SIGTERM);
    const testing::Outcome ended = daemon_->Wait();
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
  }
  void StartKeeping(const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {
        Binary("profd"), "--listen", host_, "--history-directory", folder_.Path("history"),
        "--history-mode", "hooks", "--history-window", "2s", "--history-frequency", "299",
        // The shares want samples, however busy the machine is.
        "--history-budget", "0", "--clock-limit", "0", "--memory-cap", "512MiB"};
    command.insert(command.end(), more.begin(), more.end());
    auto daemon = testing::Subprocess::Start(command);
    ASSERT_TRUE(daemon) << daemon.error().message;
    daemon_.emplace(*std::move(daemon));
    const auto serving = daemon_->WaitForStderr("serving");
    ASSERT_TRUE(serving) << serving.error().message;
  }
  [[nodiscard]] testing::Outcome Ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin() + 1, {"--host", host_});
    arguments.insert(arguments.begin(), Binary("profctl"));
    return testing::Run(arguments);
  }
  // The end of the last window that is kept; the time of day in ns.
  [[nodiscard]] std::uint64_t KeptUntil() const {
    const auto status = nlohmann::json::parse(Ask({"status", "--json"}).out, nullptr, false);
    if (status.is_discarded()) return 0;
    const auto& last = status["history"]["last_unix_ns"];
    return last.is_string() ? std::stoull(last.get<std::string>()) : last.get<std::uint64_t>();
  }
  // Runs `truth ARGUMENTS` until the history has all of it; what the program says.
  [[nodiscard]] nlohmann::json RunAndKeep(const std::vector<std::string>& arguments) const {
    std::vector<std::string> command = {TestProgram("truth")};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const testing::Outcome program = testing::Run(command);
    EXPECT_EQ(program.exit_code, 0) << program.err;
    const std::uint64_t ended_unix_ns = SystemClock().RealtimeNs();
    EXPECT_TRUE(test::Eventually([&] { return KeptUntil() >= ended_unix_ns; }));
    return nlohmann::json::parse(program.out);
  }
  // Makes run_ of what the history says of the program. As CollectWhom, it does so again where the
  // program ran before its unwind tables were there.
  void KeepWhom(const std::vector<std::string>& arguments) {
    for (int runs = 1; runs <= kRuns; ++runs) {
      const std::uint64_t first_before_ns = testing::FirstProcessCpuNs();
      const std::uint64_t before_ns = SystemClock().MonotonicNs();
      nlohmann::json truth = RunAndKeep(arguments);
      const std::uint64_t first_ns = std::max(testing::FirstProcessCpuNs(), first_before_ns);
      const auto unseen = static_cast<double>(first_ns - first_before_ns) /
                          static_cast<double>(SystemClock().MonotonicNs() - before_ns);
      pid_ = std::to_string(truth.at("pid").get<std::uint32_t>());
      const auto outcome =
          Ask({"query", "-q", "--since", "10m", "--pid", pid_, "-o", folder_.Path("x.json")});
      ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
      std::ifstream in(folder_.Path("x.json"));
      auto profile = client::ReadJson(in);
      ASSERT_TRUE(profile) << profile.error().message;
      // No window is shorter than half of what it should be.
      std::uint64_t end_ns = 0;
      for (const auto& thread : truth.at("threads"))
        end_ns = std::max(end_ns, thread.at("end_ns").get<std::uint64_t>());
      const std::uint64_t length_ns = end_ns - truth.at("begin_ns").get<std::uint64_t>();
      run_ = accuracy::TruthRun::OfHistory(std::move(truth), *std::move(profile), unseen,
                                           static_cast<int>(length_ns / kShortestWindowNs) + 1);
      if (run_->NotReadyShare() <= kMostNotReady) break;
    }
    accuracy::ExpectSums(*run_);
  }

  static constexpr int kRuns = 3;
  static constexpr double kMostNotReady = 0.01;
  static constexpr std::uint64_t kShortestWindowNs = 1'000'000'000;

  test::TempFolder folder_;
  const std::string host_ = "unix:" + folder_.Path("profd.sock");
  std::optional<testing::Subprocess> daemon_;
  std::string pid_;
};

TEST_F(HistoryHunt, AChainOfThreeIsThereAfterwards) {
  ASSERT_NO_FATAL_FAILURE(StartKeeping());
  ASSERT_NO_FATAL_FAILURE(KeepWhom({"chain", "--ms", "8000"}));
  ASSERT_TRUE(run_->profile().wakers());
  ExpectParts("chain-a", "truth::AwaitB");
  const accuracy::Whom whom = Of("chain-a", "truth::AwaitB");
  accuracy::ExpectRuns(*run_, whom, "chain-b", "truth::ComputeB");
  accuracy::ExpectRuns(*run_, whom, "chain-c", "truth::ComputeC");

  // Of the other ways to ask, each says it.
  const auto table = Ask({"waits", "--since", "10m", "-f", "json"});
  ASSERT_EQ(table.exit_code, 0) << table.err;
  std::map<std::string, std::uint64_t> by;
  const auto rows = nlohmann::json::parse(table.out)["rows"];
  for (const auto& row : rows)
    if (row["waiter"].get<std::string>().find("chain-a") != std::string::npos)
      by[row["ended_by"]] += row["ns"].get<std::uint64_t>();
  const auto most = std::ranges::max_element(by, {}, [](const auto& one) { return one.second; });
  ASSERT_NE(most, by.end()) << table.out;
  EXPECT_THAT(most->first, HasSubstr("chain-b"));
  const auto report = Ask({"report", "--since", "10m", "--by", "on-whom", "-p", pid_});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("chain-b"));
  EXPECT_THAT(report.err, Not(HasSubstr("does not know who ends waits")));
  EXPECT_THAT(Ask({"query", "--since", "10m", "--pid", pid_, "--on-whom", "-f", "folded"}).out,
              HasSubstr("[waits for chain-b];[waits for chain-c];[timer]"));
  const auto diff = Ask({"diff", "10m..", "10m..", "-p", pid_, "--on-whom", "-f", "folded"});
  EXPECT_EQ(diff.exit_code, 0) << diff.err;
  EXPECT_THAT(diff.out, HasSubstr("[waits for chain-b]"));
}

TEST_F(HistoryHunt, WithoutWakersEachWayToAskSaysHowToGetThem) {
  ASSERT_NO_FATAL_FAILURE(StartKeeping({"--history-wakers", "off"}));
  (void)RunAndKeep({"chain", "--ms", "500"});
  const auto table = Ask({"waits", "--since", "10m"});
  EXPECT_EQ(table.exit_code, 3);
  EXPECT_THAT(table.err, HasSubstr("no data: the profile does not know who ends waits"));
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"report", "--since", "10m", "--by", "on-whom"},
        std::vector<std::string>{"query", "--since", "10m", "--on-whom", "-f", "folded"},
        std::vector<std::string>{"diff", "10m..", "10m..", "--on-whom"}}) {
    const auto outcome = Ask(command);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("set history.mode to hooks"));
  }
}

TEST_F(HistoryHunt, SnapshotModeRefusesWakers) {
  const auto refused = testing::Run({Binary("profd"), "--history-wakers", "on", "--check-config"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("history.wakers is on and history.mode is snapshot"));
}

}  // namespace
}  // namespace profd::e2e
