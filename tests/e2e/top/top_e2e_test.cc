// profctl top on a terminal and without one, on a program that knows what it does.
#include <algorithm>
#include <optional>
#include <regex>
#include <sstream>

#include "tests/e2e/profctl.h"
#include "tests/e2e/pseudo_terminal.h"

namespace profd::e2e {
namespace {

class TopTest : public ProfctlTest {
 protected:
  void SetUp() override {
    ProfctlTest::SetUp();
    if (IsSkipped()) return;
    // 40 ms of computing and 20 ms of sleep, again and again.
    auto target = testing::Subprocess::Start({TestProgram("phases"), "--seconds", "600",
                                              "--compute", "40", "--sleep", "20", "--fsyncs", "0"});
    ASSERT_TRUE(target) << target.error().message;
    target_.emplace(*std::move(target));
  }
  [[nodiscard]] std::string Pid() const { return std::to_string(target_->pid()); }
  [[nodiscard]] std::vector<std::string> Top(std::vector<std::string> more,
                                             const std::string& interval = "200ms") const {
    std::vector<std::string> command{"top", "-p", Pid(), "-i", interval};
    command.insert(command.end(), more.begin(), more.end());
    return Command(command);
  }

  std::optional<testing::Subprocess> target_;
};

TEST_F(TopTest, KeysSwitchSortFilterPauseAndQuit) {
  PseudoTerminal terminal(Top({}), 80, 24);
  ASSERT_TRUE(terminal.WaitForText("processes by running")) << terminal.screen().Text();
  EXPECT_TRUE(terminal.screen().alternate());
  EXPECT_FALSE(terminal.screen().cursor_shown());
  EXPECT_EQ(terminal.screen().lines().size(), 24u);
  terminal.Type("t");
  ASSERT_TRUE(terminal.WaitForText("threads by running")) << terminal.screen().Text();
  terminal.Type("fe");
  ASSERT_TRUE(terminal.WaitForText("phases::Compute")) << terminal.screen().Text();
  terminal.Type("kss");
  ASSERT_TRUE(terminal.WaitForText("functions by runnable")) << terminal.screen().Text();
  terminal.Type("/Sleep\r");
  ASSERT_TRUE(terminal.WaitFor([](const ScreenModel& screen) {
    const std::string text = screen.Text();
    return text.find("filter: Sleep") != std::string::npos &&
           text.find("phases::Compute") == std::string::npos &&
           text.find("phases::Sleep") != std::string::npos;
  })) << terminal.screen().Text();
  terminal.Type(" ");
  ASSERT_TRUE(terminal.WaitForText("[paused]"));
  terminal.Type("h");
  ASSERT_TRUE(terminal.WaitForText("let the table stand still"));
  terminal.Type("hq");
  EXPECT_EQ(terminal.WaitForExit(), 0);
  EXPECT_TRUE(terminal.Restored());
}

TEST_F(TopTest, FollowsTheSizeOfTheWindow) {
  PseudoTerminal terminal(Top({}, "1h"), 80, 24);
  ASSERT_TRUE(terminal.WaitForText("the first table"));
  terminal.Resize(132, 40);
  EXPECT_TRUE(
      terminal.WaitFor([](const ScreenModel& screen) { return screen.lines().size() == 40; }));
  terminal.Resize(60, 10);
  EXPECT_TRUE(terminal.WaitFor([](const ScreenModel& screen) {
    return screen.lines().size() == 10 && screen.lines().back().size() <= 60 &&
           screen.lines().back().find("...") != std::string::npos;
  })) << terminal.screen().Text();
}

TEST_F(TopTest, EveryWayOutRestoresTheTerminal) {
  const auto out = [&](auto leave, int exit_code) {
    PseudoTerminal terminal(Top({}), 80, 24);
    ASSERT_TRUE(terminal.WaitForText("processes by running")) << terminal.screen().Text();
    leave(terminal);
    EXPECT_EQ(terminal.WaitForExit(), exit_code);
    EXPECT_TRUE(terminal.Restored());
  };
  out([](PseudoTerminal& terminal) { terminal.Type("\x03"); }, 0);
  out([](PseudoTerminal& terminal) { terminal.Signal(SIGTERM); }, 128 + SIGTERM);
  out([](PseudoTerminal& terminal) { terminal.Signal(SIGHUP); }, 128 + SIGHUP);
}

TEST_F(TopTest, ADaemonThatDiesRestoresTheTerminalAndIsSaid) {
  const std::string address = "unix:" + File("s");
  auto daemon = testing::Subprocess::Start({Binary("profd"), "--listen", address});
  ASSERT_TRUE(daemon) << daemon.error().message;
  ASSERT_TRUE(daemon->WaitForStderr("serving"));
  PseudoTerminal terminal(Top({"--host", address}), 80, 24);
  ASSERT_TRUE(terminal.WaitForText("processes by running")) << terminal.screen().Text();
  daemon->Signal(SIGKILL);
  EXPECT_EQ(terminal.WaitForExit(), 4);
  EXPECT_TRUE(terminal.Restored());
  EXPECT_NE(terminal.screen().Text().find("profctl: "), std::string::npos);
}

TEST_F(TopTest, ATargetThatExitsLeavesItsLastTable) {
  PseudoTerminal terminal(Top({}), 80, 24);
  ASSERT_TRUE(terminal.WaitForText("processes by running"));
  target_->Signal(SIGKILL);
  ASSERT_TRUE(terminal.WaitForText("the target has exited")) << terminal.screen().Text();
  EXPECT_NE(terminal.screen().Text().find("processes by running"), std::string::npos);
  terminal.Type("q");
  EXPECT_EQ(terminal.WaitForExit(), 0);
}

TEST_F(TopTest, NoColorIsObeyed) {
  options_.environment["NO_COLOR"] = "1";
  const auto plain = Profctl({"top", "-p", Pid(), "-n", "1", "-i", "200ms"});
  EXPECT_EQ(plain.out.find('\x1b'), std::string::npos);
  const auto colored = Profctl({"top", "-p", Pid(), "-n", "1", "-i", "200ms", "--color", "always"});
  EXPECT_NE(colored.out.find("\x1b[32m"), std::string::npos);
}

// The parts of each thread add up to the time of the table: clocks are exact, so all that is left
// is the rounding of three numbers to a thousandth of a thread.
TEST_F(TopTest, LinesOfAThreadAddUp) {
  const auto outcome =
      Profctl({"top", "-p", Pid(), "-n", "3", "-i", "300ms", "--threads", "--filter", "phases"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
  const std::regex row(R"(^ *\d+ +(\d+)  \S+ +(\d\.\d+) +(\d\.\d+) +(\d\.\d+) .*$)");
  std::istringstream lines(outcome.out);
  int tables = 0;
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    tables += line.starts_with("threads by running") ? 1 : 0;
    std::smatch match;
    if (!std::regex_match(line, match, row)) continue;
    ++rows;
    const double sum = std::stod(match[2]) + std::stod(match[3]) + std::stod(match[4]);
    EXPECT_NEAR(sum, 1, 0.001501) << line;
  }
  EXPECT_EQ(tables, 3);
  EXPECT_GE(rows, 3) << outcome.out;
}

TEST_F(TopTest, LinesEndWithTheTargetAndWithASignal) {
  auto top = StartProfctl({"top", "-p", Pid(), "-i", "200ms", "-b"});
  ASSERT_TRUE(top);
  ASSERT_TRUE(top->ReadLine());
  target_->Signal(SIGKILL);
  const auto outcome = top->Wait();
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find("the target has exited"), std::string::npos) << outcome.err;
  const auto gone = Profctl({"top", "-p", "4194305"});
  EXPECT_EQ(gone.exit_code, 3) << gone.err;
  auto endless = StartProfctl({"top", "-p", std::to_string(::getpid()), "-i", "200ms"});
  ASSERT_TRUE(endless);
  ASSERT_TRUE(endless->ReadLine());
  endless->Signal(SIGTERM);
  EXPECT_EQ(endless->Wait().exit_code, 128 + SIGTERM);
}

}  // namespace
}  // namespace profd::e2e
