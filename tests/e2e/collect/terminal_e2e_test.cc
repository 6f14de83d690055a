// profctl collect on a terminal: a progress bar that leaves nothing behind, then the summary.
#include <regex>

#include "tests/e2e/collect/beside_phases.h"
#include "tests/e2e/pseudo_terminal.h"

namespace profd::e2e {
namespace {

class TerminalTest : public BesidePhases<ProfctlTest> {
 protected:
  [[nodiscard]] std::vector<std::string> Collect(std::vector<std::string> more) const {
    std::vector<std::string> command{"collect", "-p", pid_};
    command.insert(command.end(), more.begin(), more.end());
    return Command(command);
  }
  [[nodiscard]] static bool Holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

TEST_F(TerminalTest, AProgressBarAndThenTheSummary) {
  PseudoTerminal terminal(Collect({"-d", "1"}), 120, 60);
  EXPECT_EQ(terminal.WaitForExit(), 0);
  const std::regex bar(R"(collecting .*  \[#*-*\]  \d\.\d/1\.0 s   \d+ samples   \d+ lost)");
  EXPECT_TRUE(std::regex_search(terminal.written(), bar)) << terminal.written();
  EXPECT_TRUE(Holds(terminal.written(), "\x1b[32m"));
  const std::string left = terminal.screen().Text();
  EXPECT_FALSE(Holds(left, "/1.0 s")) << left;
  EXPECT_FALSE(Holds(left, "collecting")) << left;
  EXPECT_TRUE(Holds(left, "where the time goes: worker (")) << left;
  EXPECT_TRUE(Holds(left, "open it:  profctl collect -o out.svg")) << left;
  EXPECT_TRUE(terminal.Restored());
}

TEST_F(TerminalTest, CtrlCEndsEarlyAndWrites) {
  PseudoTerminal terminal(Collect({"-d", "1h", "-o", File("x.json")}), 120, 60);
  ASSERT_TRUE(terminal.WaitForText("/3600.0 s   ")) << terminal.screen().Text();
  terminal.Type("\x03");
  EXPECT_EQ(terminal.WaitForExit(), 0);
  const std::string left = terminal.screen().Text();
  EXPECT_FALSE(Holds(left, "/3600.0 s")) << left;
  EXPECT_TRUE(Holds(left, "ending the collection")) << left;
  EXPECT_TRUE(Holds(left, "wrote " + File("x.json"))) << left;
  const auto profile = ReadProfile(File("x.json"));
  EXPECT_GE(profile.threads_size(), 4);
  EXPECT_LT(profile.end_ns() - profile.start_ns(), 3'600'000'000'000u);
}

// Without colours there is still a bar, which is erased.
TEST_F(TerminalTest, NoColorIsObeyed) {
  auto command = Collect({"-d", "1"});
  command.insert(command.begin(), {"/usr/bin/env", "NO_COLOR=1"});
  PseudoTerminal terminal(command, 120, 60);
  EXPECT_EQ(terminal.WaitForExit(), 0);
  EXPECT_TRUE(Holds(terminal.written(), "/1.0 s")) << terminal.written();
  std::string colourless = terminal.written();
  for (std::size_t at = 0; (at = colourless.find("\x1b[K", at)) != std::string::npos;)
    colourless.erase(at, 3);
  EXPECT_FALSE(Holds(colourless, "\x1b")) << colourless;
  EXPECT_FALSE(Holds(terminal.screen().Text(), "/1.0 s")) << terminal.screen().Text();
  EXPECT_TRUE(Holds(terminal.screen().Text(), "where the time goes: worker ("))
      << terminal.screen().Text();
}

}  // namespace
}  // namespace profd::e2e
