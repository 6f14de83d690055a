// The files that the build tool settings_documents writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "daemon/config/config_file.h"
#include "daemon/config/settings.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace profd::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Generated(const std::string& name) {
  std::ifstream file(test::BinaryDirectory() + "/deploy/" + name);
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string InRoff(std::string text) {
  for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

TEST(SettingsDocumentsTest, TheInstalledConfigurationHasOnlyComments) {
  const auto values = ParseConfig(Generated("profd.toml"), "p.toml");
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_TRUE(values->values.empty());
}

TEST(SettingsDocumentsTest, WithoutItsCommentMarksTheInstalledConfigurationHasEveryDefault) {
  auto text = Generated("profd.toml");
  for (std::size_t at = 0; (at = text.find("\n#", at)) != std::string::npos; ++at)
    if (text[at + 2] != ' ') text.erase(at + 1, 1);
  const auto values = ParseConfig(text, "p.toml");
  ASSERT_TRUE(values) << values.error().message;
  ASSERT_EQ(values->values.size(), Settings().size());
  for (const auto& value : values->values) EXPECT_EQ(value.text, value.setting->fallback);
}

TEST(SettingsDocumentsTest, TheManualOfTheConfigurationHasEveryKey) {
  const auto page = Generated("profd.toml.5");
  EXPECT_THAT(page, Not(HasSubstr("@KEYS@")));
  for (const auto& setting : Settings()) {
    EXPECT_THAT(page, HasSubstr("\n.B " + std::string(KeyInTable(setting)) + " = "));
    EXPECT_THAT(page, HasSubstr("\n.BR " + EnvironmentName(setting) + " .\n"));
    EXPECT_THAT(page, HasSubstr("\n.BR " + InRoff(FlagName(setting)) + " ,\n"));
  }
}

TEST(SettingsDocumentsTest, TheManualOfTheDaemonHasEveryFlagThatChangesADefault) {
  const auto page = Generated("profd.8");
  EXPECT_THAT(page, Not(HasSubstr("@FLAGS@")));
  for (const auto& setting : Settings()) {
    const auto flag = FlagName(setting);
    const bool on = setting.fallback == "true";
    EXPECT_THAT(page, HasSubstr(" " + InRoff(on ? "--no-" + flag.substr(2) : flag)));
  }
}

TEST(SettingsDocumentsTest, APageWithNothingToFillInIsAnError) {
  const auto tool = test::BinaryDirectory() + "/daemon/config/settings_documents";
  EXPECT_EQ(testing::Run({tool, "man", "/dev/null"}).exit_code, 2);
  EXPECT_EQ(testing::Run({tool, "man", "/nonexistent"}).exit_code, 2);
}

}  // namespace
}  // namespace profd::config
