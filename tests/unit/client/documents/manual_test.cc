// The manual pages and --help name the same options: the generated page.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "client/commands/command_line.h"
#include "client/format/exporter.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace profd::client {
namespace {

using Names = std::set<std::string>;

// Option names by heading of the page: those in the line below each .TP.
std::map<std::string, Names> OptionsOfPage(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  std::map<std::string, Names> options;
  std::string heading;
  bool tag = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(".SS ") || line.starts_with(".SH ")) heading = line.substr(4);
    if (tag) {
      line = std::regex_replace(line, std::regex(R"(\\f[BIR]|\\%)"), "");
      line = std::regex_replace(line, std::regex(R"(\\-)"), "-");
      static const std::regex kOption(R"((^|[ ,])(--?[A-Za-z][A-Za-z-]*))");
      for (std::sregex_iterator at(line.begin(), line.end(), kOption), end; at != end; ++at)
        options[heading].insert((*at)[2]);
    }
    tag = line == ".TP";
  }
  return options;
}

TEST(ManualTest, NamesTheOptionsOfEveryCommand) {
  const auto page = OptionsOfPage(test::BinaryDirectory() + "/deploy/profctl.1");
  ASSERT_TRUE(page.contains("COMMON OPTIONS"));
  const Names common = page.at("COMMON OPTIONS");
  const Verbs verbs;
  std::vector<const Command*> commands(verbs.commands().begin(), verbs.commands().end());
  commands.push_back(&verbs.root());
  for (const Command* command : commands) {
    Names in_page =
        command->name.empty() || !page.contains(command->name) ? Names{} : page.at(command->name);
    in_page.insert(common.begin(), common.end());
    Names in_help;
    for (const Option& option : command->options)
      for (const std::string& name : NamesOf(option)) in_help.insert(name);
    if (!command->name.empty()) in_help.insert({"-V", "--version"});  // before a command only
    EXPECT_EQ(in_page, in_help) << command->name;
  }
}

std::string Page() {
  std::ifstream in(test::BinaryDirectory() + "/deploy/profctl.1");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(ManualTest, NamesEveryCommand) {
  const std::string page = Page();
  const Verbs verbs;
  for (const Command* command : verbs.commands()) {
    EXPECT_NE(page.find("\n.SS " + command->name + "\n"), std::string::npos) << command->name;
    EXPECT_NE(page.find("\n\\fBprofctl " + command->name + "\\fR"), std::string::npos)
        << "the synopsis of " << command->name;
  }
}

TEST(ManualTest, NamesEveryFormat) {
  const std::string page = Page();
  const auto with_hyphens = [](std::string_view text) {
    return std::regex_replace(std::string(text), std::regex("-"), "\\-");
  };
  for (const Exporter& exporter : Exporters())
    EXPECT_NE(page.find("\n\\fB" + with_hyphens(exporter.name) + "\\fR: ." +
                        with_hyphens(exporter.extensions.front().substr(1))),
              std::string::npos)
        << exporter.name;
}

TEST(ManualTest, IsWellFormed) {
  if (testing::Run({"sh", "-c", "command -v groff"}).exit_code != 0)
    GTEST_SKIP() << "groff is not installed";
  for (const auto& page :
       {test::BinaryDirectory() + "/deploy/profctl.1", test::BinaryDirectory() + "/deploy/profd.8",
        test::BinaryDirectory() + "/deploy/profd.toml.5"}) {
    const auto outcome = testing::Run({"groff", "-man", "-Tascii", "-ww", page});
    EXPECT_EQ(outcome.exit_code, 0) << page;
    EXPECT_EQ(outcome.err, "") << page;
  }
}

TEST(ManualTest, NamesTheOptionsOfTheDaemon) {
  const auto outcome = testing::Run({test::BinaryDirectory() + "/bin/profd", "--help"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  Names in_help;
  static const std::regex kLine(R"(^  (-[^ ]+))");
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, kLine)) continue;
    std::istringstream names(match[1]);
    for (std::string name; std::getline(names, name, ',');) in_help.insert(name);
  }
  EXPECT_TRUE(in_help.contains("--listen")) << outcome.out;
  auto page = OptionsOfPage(test::BinaryDirectory() + "/deploy/profd.8");
  page["OPTIONS"].merge(page["SETTINGS"]);
  EXPECT_EQ(page["OPTIONS"], in_help);
}

}  // namespace
}  // namespace profd::client
