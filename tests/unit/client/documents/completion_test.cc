// What bash, zsh and fish offer is what --help names: the generated files in the real shells.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "client/commands/command_line.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace profd::client {
namespace {

using Names = std::set<std::string>;

const std::string kFolder = test::BinaryDirectory() + "/deploy/profctl.";

std::string OutputOf(const std::vector<std::string>& command) {
  const auto outcome = testing::Run(command);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return outcome.out;
}

Names LinesOf(const std::string& text) {
  std::istringstream lines(text);
  Names names;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) names.insert(line);
  return names;
}

class CompletionTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (testing::Run({"sh", "-c", "command -v " + GetParam()}).exit_code != 0)
      GTEST_SKIP() << GetParam() << " is not installed";
  }
  [[nodiscard]] static std::string File() { return kFolder + GetParam(); }

  // Long options behind a command; "": behind profctl.
  [[nodiscard]] static Names Options(const std::string& command) {
    if (GetParam() == "bash") return Bash("profctl " + command + " --");
    if (GetParam() == "fish") return Fish("profctl " + command + (command.empty() ? "--" : " --"));
    // What the function hands to zsh's own ones, which do the rest.
    Names names;
    const std::string out = Zsh(command, "argument");
    static const std::regex kOption(R"((?:^|\n)[^\n\[]*?(--[a-z-]+)\[)");
    for (std::sregex_iterator at(out.begin(), out.end(), kOption), end; at != end; ++at)
      names.insert((*at)[1]);
    return names;
  }
  // What may follow an option.
  [[nodiscard]] static Names Values(const std::string& command, const std::string& option) {
    if (GetParam() == "bash") return Bash("profctl " + command + " " + option + " ''");
    if (GetParam() == "fish") return Fish("profctl " + command + " " + option + " ");
    // "(-f --format)--format[...]:value:(folded svg)".
    const std::string out = Zsh(command, "argument");
    std::smatch match;
    const std::regex list("(?:^|\n)(?:\\([^)]*\\)|\\*)?" + option +
                          R"(\[[^\n]*:value:\(([^)\n]*)\))");
    if (!std::regex_search(out, match, list)) return {};
    std::istringstream words(match[1]);
    Names names;
    for (std::string word; words >> word;) names.insert(word);
    return names;
  }
  [[nodiscard]] static Names Commands() {
    Names names = GetParam() == "bash"   ? Bash("profctl ''")
                  : GetParam() == "fish" ? Fish("profctl ")
                                         : Names{};
    if (GetParam() == "zsh")
      for (const std::string& line : LinesOf(Zsh("", "command")))
        if (line.starts_with("command ")) names.insert(line.substr(8, line.find(':') - 8));
    std::erase_if(names, [](const std::string& word) { return word.starts_with('-'); });
    return names;
  }

 private:
  [[nodiscard]] static Names Bash(const std::string& words) {
    return LinesOf(
        OutputOf({"bash", "-c",
                  "source " + File() + "; COMP_WORDS=(" + words +
                      "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _profctl; printf '%s\\n' "
                      "\"${COMPREPLY[@]}\""}));
  }
  [[nodiscard]] static Names Fish(const std::string& line) {
    Names names;
    for (const std::string& offered : LinesOf(OutputOf(
             {"fish", "--no-config", "-c", "source " + File() + "; complete -C '" + line + "'"})))
      names.insert(offered.substr(0, offered.find('\t')));
    return names;
  }
  [[nodiscard]] static std::string Zsh(const std::string& command, const std::string& state) {
    return OutputOf({"zsh", "-f", "-c",
                     "_describe() { print -rl -- command\\ ${^commands} }\n"
                     "_arguments() {\n"
                     "  [[ $1 == -C ]] && { state=" +
                         state + "; words=('" + command +
                         "') }\n"
                         "  [[ $1 == -C && -n '" +
                         command +
                         "' ]] || print -rl -- \"$@\"\n"
                         "  [[ $1 == -C && -z '" +
                         command +
                         "' && $state == argument ]] && state=\n"
                         "  return 0\n"
                         "}\n"
                         "source " +
                         File()});
  }
};

TEST_P(CompletionTest, OffersTheLongOptionsOfEveryCommand) {
  const Verbs verbs;
  std::vector<const Command*> commands(verbs.commands().begin(), verbs.commands().end());
  commands.push_back(&verbs.root());
  for (const Command* command : commands) {
    Names expected;
    for (const Option& option : command->options)
      for (const std::string& name : NamesOf(option))
        if (name.starts_with("--")) expected.insert(name);
    EXPECT_EQ(Options(command->name), expected) << command->name;
    if (command->alias.empty()) continue;
    EXPECT_EQ(Options(command->alias), expected) << command->alias;
  }
}

TEST_P(CompletionTest, OffersTheCommandsAndTheirAliases) {
  Names expected;
  const Verbs verbs;
  for (const Command* command : verbs.commands()) {
    expected.insert(command->name);
    if (!command->alias.empty()) expected.insert(command->alias);
  }
  EXPECT_EQ(Commands(), expected);
}

TEST_P(CompletionTest, OffersTheValuesOfAnOption) {
  const Verbs verbs;
  std::size_t lists = 0;
  for (const Command* command : verbs.commands())
    for (const Option& option : command->options) {
      if (option.words.empty()) continue;
      ++lists;
      for (const std::string& name : NamesOf(option))
        EXPECT_EQ(Values(command->name, name), Names(option.words.begin(), option.words.end()))
            << command->name << " " << name;
    }
  EXPECT_GT(lists, 12u) << "each command has --color";
}

INSTANTIATE_TEST_SUITE_P(Shells, CompletionTest, ::testing::Values("bash", "zsh", "fish"),
                         [](const auto& shell) { return shell.param; });

}  // namespace
}  // namespace profd::client
