#include "daemon/config/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profd::config {
namespace {

using testing::HasSubstr;

std::string Problem(std::string_view text) {
  const auto values = config::ParseConfig(text, "p.toml");
  return values ? "no problem" : values.error().message;
}

TEST(ConfigFileTest, ValuesComeWithTheirPlace) {
  const auto values =
      config::ParseConfig("# words\nlog_level = \"debug\"\n\ndebug_info = false\n", "p.toml");
  ASSERT_TRUE(values) << values.error().message;
  ASSERT_EQ(values->values.size(), 2u);
  for (const auto& value : values->values) {
    if (value.setting->key == "log_level") {
      EXPECT_EQ(value.text + " " + value.place, "debug p.toml:2");
    } else {
      EXPECT_EQ(value.text + " " + value.place, "false p.toml:4");
    }
  }
}

TEST(ConfigFileTest, AnUnknownKeyNamesTheNearest) {
  EXPECT_EQ(Problem("\nlog_levl = \"info\"\n"),
            "p.toml:2: unknown key 'log_levl'; did you mean 'log_level'?");
  EXPECT_EQ(Problem("[spline]\nreticulated = true\n"),
            "p.toml:2: unknown key 'spline.reticulated'");
}

TEST(ConfigFileTest, AWrongKindSaysWhatIsRight) {
  EXPECT_EQ(Problem("log_level = 3\n"),
            "p.toml:1: log_level is 3; it must be one of debug, info, warn, error, off");
  EXPECT_EQ(Problem("debug_info = \"yes\"\n"),
            "p.toml:1: debug_info is the string \"yes\"; it must be true or false");
  EXPECT_EQ(Problem("debug_info = [true]\n"),
            "p.toml:1: debug_info is a list; it must be true or false");
  EXPECT_EQ(Problem("[log_level]\na = 1\n"),
            "p.toml:1: log_level is a table; it must be one of debug, info, warn, error, off");
  EXPECT_EQ(Problem("debug_info = 1979-05-27\n"),
            "p.toml:1: debug_info is a date; it must be true or false");
}

TEST(ConfigFileTest, EveryProblemIsSaidInOrderOfLines) {
  EXPECT_EQ(Problem("listn = \"x\"\nhook = \"some\"\ndebug_info = 1\n"),
            "p.toml:1: unknown key 'listn'; did you mean 'listen'?\n"
            "p.toml:2: hook is 'some'; it must be one of auto, sched_exit_tp, kprobe, none\n"
            "p.toml:3: debug_info is 1; it must be true or false");
}

TEST(ConfigFileTest, WhatIsNotTomlIsSaidWithItsLine) {
  EXPECT_THAT(Problem("log_level = \"info\"\nhook = = 2\n"), HasSubstr("p.toml:2: "));
  EXPECT_THAT(Problem("hook = \"auto\"\nhook = \"auto\"\n"), HasSubstr("p.toml:2: "));
  EXPECT_THAT(Problem(std::string_view("\0\xff", 2)), HasSubstr("p.toml:1: "));
}

TEST(ConfigFileTest, AFileThatIsNotThereIsNotFound) {
  const auto values = config::ReadConfigFile("/nonexistent/profd.toml");
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(config::ReadConfigFile("/proc"));      // a directory
  EXPECT_FALSE(config::ReadConfigFile("/dev/zero"));  // no end
}

}  // namespace
}  // namespace profd::config
