#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "daemon/config/command_line.h"
#include "daemon/config/settings.h"
#include "tests/support/temp_folder.h"

namespace profd::config {
namespace {

using testing::HasSubstr;

class DaemonCommandLineTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    return folder_.Write(name, text);
  }
  Result<config::CommandLine> Parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "profd");
    const config::Environment environment = {
        [this](const char* name) -> const char* {
          const auto found = environment_.find(name);
          return found == environment_.end() ? nullptr : found->second.c_str();
        },
        folder_.Path("profd.toml")};
    return config::ParseCommandLine(static_cast<int>(arguments.size()), arguments.data(),
                                    environment);
  }
  std::string Problem(const std::vector<const char*>& arguments) {
    const auto line = Parse(arguments);
    return line ? "no problem" : line.error().message;
  }

  std::map<std::string, std::string> environment_;
  test::TempFolder folder_;
};

TEST_F(DaemonCommandLineTest, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  EXPECT_EQ(Parse({})->options.log_level, "info");
  EXPECT_EQ(Parse({})->config_file, "");
  const auto path = Write("profd.toml", "log_level = \"debug\"\ndebug_info = false\n");
  EXPECT_EQ(Parse({})->options.log_level, "debug");
  EXPECT_FALSE(Parse({})->options.debug_info);
  EXPECT_EQ(Parse({})->config_file, path);
  environment_["PROFD_LOG_LEVEL"] = "warn";
  EXPECT_EQ(Parse({})->options.log_level, "warn");
  EXPECT_EQ(Parse({"--log-level", "off"})->options.log_level, "off");
  EXPECT_TRUE(Parse({"--debug-info"})->options.debug_info);
  environment_["PROFD_DEBUG_INFO"] = "on";
  EXPECT_TRUE(Parse({})->options.debug_info);
  EXPECT_FALSE(Parse({"--no-debug-info"})->options.debug_info);
}

TEST_F(DaemonCommandLineTest, EverySettingHasAFlagAndAVariable) {
  for (const auto& setting : config::Settings()) {
    SCOPED_TRACE(std::string(setting.key));
    const std::string flag = config::FlagName(setting);
    const std::string value(setting.fallback);
    const bool is_switch = std::holds_alternative<bool config::Options::*>(setting.field);
    const auto by_flag = is_switch ? Parse({flag.c_str()}) : Parse({flag.c_str(), value.c_str()});
    EXPECT_TRUE(by_flag) << by_flag.error().message;
    environment_[config::EnvironmentName(setting)] = value;
    EXPECT_TRUE(Parse({}));
    if (is_switch || !setting.choices.empty()) {
      environment_[config::EnvironmentName(setting)] = "neither";
      EXPECT_THAT(Problem({}), HasSubstr(config::EnvironmentName(setting) + " is 'neither'"));
    }
    environment_.clear();
    EXPECT_THAT(*Parse({"--help"})->text, HasSubstr("-" + flag.substr(2)));
  }
}

TEST_F(DaemonCommandLineTest, ANamedFileMustExist) {
  EXPECT_THAT(Problem({"--config", "/nonexistent"}), HasSubstr("cannot read /nonexistent"));
  environment_["PROFD_CONFIG"] = "/nonexistent/2";
  EXPECT_THAT(Problem({}), HasSubstr("cannot read /nonexistent/2"));
  const auto other = Write("other.toml", "log_level = \"off\"\n");
  EXPECT_EQ(Parse({"--config", other.c_str()})->options.log_level, "off");
}

TEST_F(DaemonCommandLineTest, WhatIsWrongInTheFileIsSaidEvenWhereAFlagWins) {
  Write("profd.toml", "log_level = \"loud\"\n");
  EXPECT_THAT(Problem({"--log-level", "info"}), HasSubstr("profd.toml:1: log_level is 'loud'"));
}

TEST_F(DaemonCommandLineTest, PrivateUseReadsNoFileUnlessOneIsNamed) {
  const auto path = Write("profd.toml", "log_level = \"debug\"\n");
  EXPECT_EQ(Parse({"--private"})->options.log_level, "warn");
  EXPECT_EQ(Parse({"--private", "--config", path.c_str()})->options.log_level, "debug");
}

TEST_F(DaemonCommandLineTest, CheckConfigSaysWhichFileIsRight) {
  EXPECT_THAT(*Parse({"--check-config"})->text, HasSubstr("no configuration file"));
  const auto path = Write("profd.toml", "log_level = \"debug\"\n");
  EXPECT_EQ(*Parse({"--check-config"})->text, path + " is valid\n");
  Write("profd.toml", "log_level = 1\n");
  const auto line = Parse({"--check-config"});
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(DaemonCommandLineTest, RulesAreCheckedWithTheSettings) {
  EXPECT_FALSE(Parse({})->rules->rules().empty()) << "those that profd ships with";
  const auto rules = Write("rules.toml", "[[rule]]\nclass = 'spin'\nfunction = 'f'\n");
  Write("profd.toml", "[rules]\nfile = \"" + rules + "\"\n");
  EXPECT_EQ(Parse({"--check-config"})->rules->rules().front().place, rules + ":1");
  Write("rules.toml", "[[rule]]\nclass = 'spin'\nfunction = '('\n");
  EXPECT_EQ(Problem({"--check-config"}), rules + ":3: function: missing ): (");
  EXPECT_THAT(Problem({"--rules-file", "/missing/rules"}), HasSubstr("/missing/rules"));
}

TEST_F(DaemonCommandLineTest, PrintConfigGivesAFileThatGivesTheSame) {
  environment_["PROFD_HOOK"] = "kprobe";
  const auto printed = *Parse({"--print-config", "--log-level", "error"})->text;
  EXPECT_THAT(printed, HasSubstr("log_level = \"error\"  # --log-level\n"));
  EXPECT_THAT(printed, HasSubstr("hook = \"kprobe\"  # PROFD_HOOK\n"));
  EXPECT_THAT(printed, HasSubstr("debug_info = true  # default\n"));
  const auto before = Parse({"--log-level", "error"})->options;
  environment_.clear();
  Write("profd.toml", printed);
  const auto after = Parse({});
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_TRUE(config::Differences(before, after->options).empty());
}

TEST_F(DaemonCommandLineTest, UnknownFlagsAreRefused) {
  const auto line = Parse({"--frobnicate"});
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(Parse({"--debug-info", "--no-debug-info"}));
}

}  // namespace
}  // namespace profd::config
