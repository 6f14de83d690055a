#include "client/commands/command_line.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/commands/export.h"
#include "client/commands/health/status.h"
#include "tests/unit/client/commands/parsed.h"

namespace profd::client {
namespace {

TEST(CommandLineTest, EveryCommandIsFound) {
  EXPECT_EQ(Parsed({"status", "--json"}).name(), "status");
  const ParsedLine status = Parsed({"status", "--json"});
  EXPECT_TRUE(dynamic_cast<const StatusVerb&>(*status.line.verb).json());
  EXPECT_EQ(Parsed({"formats"}).name(), "formats");
  EXPECT_EQ(Parsed({"version"}).name(), "version");
  EXPECT_EQ(Parsed({"--version"}).name(), "version");
  EXPECT_EQ(Parsed({"record", "-a"}).name(), "collect");
  EXPECT_EQ(Parsed({"-q", "status"}).line.global.quiet, true);
  const auto options =
      OptionsOf<ExportVerb>({"export", "in.json", "-o", "a.svg", "-o", "b.folded"});
  EXPECT_EQ(options.input, "in.json");
  EXPECT_EQ(options.output.files.size(), 2u);
  EXPECT_EQ(OptionsOf<ExportVerb>({"export", "-"}).input, "-");
  EXPECT_EQ(OptionsOf<ExportVerb>({"export", "status"}).input, "status");
}

TEST(CommandLineTest, WrongValuesNameTheOption) {
  EXPECT_NE(Refused({"collect", "-p", "1", "-d", "0"}).message.find("-d 0"), std::string::npos);
  EXPECT_NE(Refused({"collect", "-p", "1", "-d", "-5"}).message.find("-d -5"), std::string::npos);
  EXPECT_NE(Refused({"collect", "-p", "1", "-F", "0"}).message.find("-F 0"), std::string::npos);
  EXPECT_NE(Refused({"collect", "-p", "x"}).message.find("-p x"), std::string::npos);
  EXPECT_NE(Refused({"collect", "-a", "-m", "up"}).message.find("-m up"), std::string::npos);
  EXPECT_NE(Refused({"--color", "red", "formats"}).message.find("red"), std::string::npos);
  EXPECT_EQ(Refused({"collect", "-p"}).message, "--pid needs a value");
  EXPECT_EQ(Refused({"collect", "-a", "-d", "1", "-d", "2"}).message,
            "--duration is given more than once");
}

TEST(CommandLineTest, SaysWhatWasMeant) {
  EXPECT_EQ(Refused({"colect", "-p", "1"}).hint, "did you mean profctl collect?");
  EXPECT_EQ(Refused({"stats"}).hint, "did you mean profctl status?");
  EXPECT_EQ(Refused({"collect", "-a", "--durtion", "5"}).hint, "did you mean --duration?");
  EXPECT_EQ(Refused({"collect", "-a", "--freq=5"}).hint, "did you mean --frequency?");
  EXPECT_EQ(Refused({"collect", "-a", "-x"}).hint, "see profctl collect --help");
  EXPECT_EQ(Refused({"zzzzzz"}).hint, "see profctl --help");
  EXPECT_NE(Refused({"collect", "ls"}).hint.find("--"), std::string::npos);
  EXPECT_NE(Refused({"collect", "-a", "--rate", "5"}).hint.find("-F"), std::string::npos);
  EXPECT_NE(Refused({"collect", "-a", "--idle"}).hint.find("-m on"), std::string::npos);
}

TEST(CommandLineTest, DashesOnlyWhereTheyMakeSense) {
  EXPECT_EQ(Refused({"status", "--", "ls"}).message,
            "only collect, waits, threads or report takes a command behind --");
  EXPECT_EQ(Refused({"collect", "--"}).message, "no command behind --");
  (void)Refused({"export"});
  (void)Refused({});
}

TEST(CommandLineTest, HelpFitsEightyColumnsAndNamesEveryOption) {
  const Verbs verbs;
  std::vector<const Command*> commands(verbs.commands().begin(), verbs.commands().end());
  commands.push_back(&verbs.root());
  for (const Command* command : commands) {
    std::vector<std::string> arguments;
    if (!command->name.empty()) arguments.push_back(command->name);
    arguments.emplace_back("--help");
    const ParsedLine parsed = Parsed(arguments);
    EXPECT_EQ(parsed.line.verb, nullptr);
    const std::string& help = parsed.line.help;
    std::istringstream lines(help);
    for (std::string text; std::getline(lines, text);) {
      EXPECT_LE(text.size(), 80u) << text;
      EXPECT_FALSE(text.ends_with(' ')) << text;
    }
    EXPECT_TRUE(help.starts_with("Usage: profctl")) << help;
    for (const Option& option : command->options)
      for (const std::string& name : NamesOf(option))
        EXPECT_NE(help.find(name), std::string::npos) << name << "\n" << help;
  }
}

TEST(CommandLineTest, HelpIsFoundInEveryWay) {
  const std::string help = Parsed({"collect", "--help"}).line.help;
  EXPECT_EQ(Parsed({"collect", "-h"}).line.help, help);
  EXPECT_EQ(Parsed({"help", "collect"}).line.help, help);
  EXPECT_EQ(Parsed({"collect", "-p", "nonsense", "--help"}).line.help, help);
  EXPECT_NE(Parsed({"help"}).line.help.find("Commands:"), std::string::npos);
}

}  // namespace
}  // namespace profd::client
