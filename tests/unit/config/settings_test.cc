#include "daemon/config/settings.h"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

namespace profd::config {
namespace {

using std::chrono::nanoseconds;
using testing::HasSubstr;

TEST(SettingsTest, EveryDefaultIsAValueInTheShortestWayToWriteIt) {
  for (const auto& setting : config::Settings()) {
    config::Options options;
    const auto set = config::SetValue(setting, setting.fallback, options);
    ASSERT_TRUE(set) << setting.key << " " << set.error().message;
    EXPECT_EQ(config::ValueText(setting, options), setting.fallback) << setting.key;
  }
}

TEST(SettingsTest, LimitsAreThemselvesInRange) {
  for (const auto& setting : config::Settings()) {
    config::Options options;
    for (const auto limit : {setting.least, setting.most}) {
      if (limit.empty()) continue;
      EXPECT_TRUE(config::SetValue(setting, limit, options)) << setting.key;
    }
  }
}

TEST(SettingsTest, NoNameIsTakenTwice) {
  std::set<std::string> names;
  for (const auto& setting : config::Settings()) {
    EXPECT_TRUE(names.insert(config::FlagName(setting)).second) << setting.key;
    EXPECT_TRUE(names.insert(config::EnvironmentName(setting)).second) << setting.key;
    EXPECT_EQ(config::FindSetting(setting.key), &setting);
    EXPECT_FALSE(setting.help.empty()) << setting.key;
  }
}

TEST(SettingsTest, NamesFollowFromTheKey) {
  const config::Setting setting{.key = "history.max_age", .field = &config::Options::listen};
  EXPECT_EQ(config::FlagName(setting), "--history-max-age");
  EXPECT_EQ(config::EnvironmentName(setting), "PROFD_HISTORY_MAX_AGE");
}

TEST(SettingsTest, TheNearestKeyIsFound) {
  EXPECT_EQ(config::NearestKey("log_levle"), "log_level");
  EXPECT_EQ(config::NearestKey("listn"), "listen");
  EXPECT_EQ(config::NearestKey("debug.log_level"), "log_level");
  EXPECT_EQ(config::NearestKey("something_else_entirely"), "");
}

TEST(SettingsTest, TheHistoryIsKeptWhereSystemdSaysUnlessAnotherPlaceIsNamed) {
  config::Options options;
  options.history_directory = "auto";
  EXPECT_EQ(config::HistoryDirectory(options, nullptr), "");
  EXPECT_EQ(config::HistoryDirectory(options, "/var/lib/profd"), "/var/lib/profd");
  EXPECT_EQ(config::HistoryDirectory(options, "/var/lib/profd:/var/lib/more"), "/var/lib/profd");
  options.history_directory = "/srv/kept";
  EXPECT_EQ(config::HistoryDirectory(options, nullptr), "/srv/kept");
  EXPECT_EQ(config::HistoryDirectory(options, "/var/lib/profd"), "/srv/kept");
  options.history_directory = "off";
  EXPECT_EQ(config::HistoryDirectory(options, "/var/lib/profd"), "");
  options.history_directory = "auto";
  options.private_use = true;
  EXPECT_EQ(config::HistoryDirectory(options, "/var/lib/profd"), "");
}

TEST(SettingsTest, FilesAreKeptWhereSystemdSaysOrByRoot) {
  config::Options options;
  options.cache_directory = "auto";
  EXPECT_EQ(config::CacheDirectory(options, nullptr, false), "");
  EXPECT_EQ(config::CacheDirectory(options, nullptr, true), "/var/cache/profd");
  EXPECT_EQ(config::CacheDirectory(options, "/var/cache/a:/var/cache/b", true), "/var/cache/a");
  options.cache_directory = "/srv/kept";
  EXPECT_EQ(config::CacheDirectory(options, "/var/cache/a", true), "/srv/kept");
  options.cache_directory = "off";
  EXPECT_EQ(config::CacheDirectory(options, "/var/cache/a", true), "");
}

TEST(SettingsTest, WakersOfTheHistoryNeedHookMode) {
  config::Options options;
  for (const auto& setting : config::Settings())
    ASSERT_TRUE(config::SetValue(setting, setting.fallback, options));
  EXPECT_EQ(options.history_wakers, "auto");
  EXPECT_TRUE(config::CheckTogether(options));
  options.history_wakers = "on";
  const auto refused = config::CheckTogether(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message,
              HasSubstr("history.wakers is on and history.mode is snapshot"));
  EXPECT_THAT(refused.error().hint, HasSubstr("set history.mode to hooks"));
  options.history_mode = "hooks";
  EXPECT_TRUE(config::CheckTogether(options));
}

TEST(SettingsTest, AHostHasTheNameOfTheKernelOrTheOneThatIsSet) {
  config::Options options;
  std::array<char, 256> kernel{};
  ASSERT_EQ(::gethostname(kernel.data(), kernel.size() - 1), 0);
  EXPECT_EQ(config::HostName(options), kernel.data());
  options.host_name = "node-7";
  EXPECT_EQ(config::HostName(options), "node-7");
  EXPECT_TRUE(config::CheckTogether(options));
  for (const std::string& name : {std::string(), std::string("a b"), std::string(254, 'a')}) {
    options.host_name = name;
    EXPECT_FALSE(config::CheckTogether(options)) << name;
  }
}

TEST(SettingsTest, SocketsOfRuntimesAreAListOfPaths) {
  config::Options options;
  const auto* setting = config::FindSetting("containers.sockets");
  ASSERT_NE(setting, nullptr);
  ASSERT_TRUE(config::SetValue(*setting, "auto", options));
  EXPECT_EQ(config::ContainerSockets(options).front(), "/run/containerd/containerd.sock");
  ASSERT_TRUE(config::SetValue(*setting, "off", options));
  EXPECT_TRUE(config::ContainerSockets(options).empty());
  ASSERT_TRUE(config::SetValue(*setting, " /run/a.sock, /run/b.sock,", options));
  EXPECT_EQ(config::ContainerSockets(options),
            (std::vector<std::string>{"/run/a.sock", "/run/b.sock"}));
  for (const char* wrong : {"", ",", "a.sock", "/run/a.sock,b", "on"})
    EXPECT_FALSE(config::SetValue(*setting, wrong, options)) << wrong;
}

TEST(SettingsTest, ChangesAreNamedWithBothValues) {
  config::Options before;
  for (const auto& setting : config::Settings())
    EXPECT_TRUE(config::SetValue(setting, setting.fallback, before));
  config::Options after = before;
  EXPECT_TRUE(config::Differences(before, after).empty());
  after.log_level = "debug";
  after.debug_info = false;
  const auto changes = config::Differences(before, after);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].setting->key, "log_level");
  EXPECT_TRUE(changes[0].setting->live);
  EXPECT_EQ(changes[0].from + ">" + changes[0].to, "info>debug");
  EXPECT_EQ(changes[1].setting->key, "debug_info");
  EXPECT_FALSE(changes[1].setting->live);
}

TEST(SettingValuesTest, DurationsHaveUnits) {
  config::Options options;
  const config::Setting setting{.key = "x", .field = &config::Options::history_max_age};
  const auto value_of = [&](std::string_view text) {
    EXPECT_TRUE(config::SetValue(setting, text, options)) << text;
    return options.history_max_age;
  };
  EXPECT_EQ(value_of("19"), std::chrono::seconds(19));
  EXPECT_EQ(value_of("7d"), std::chrono::hours(168));
  EXPECT_EQ(value_of("1.5 h"), std::chrono::minutes(90));
  EXPECT_EQ(value_of("500ms"), std::chrono::milliseconds(500));
  EXPECT_EQ(value_of("0"), nanoseconds(0));
  EXPECT_EQ(config::ValueText(setting, options), "0s");
  for (const char* wrong : {"", "s", "-1s", "1x", "1e3s", "nan", "10s ", "1s2", "99999999999d"})
    EXPECT_EQ(
        config::SetValue(setting, wrong, options).error().message,
        "is '" + std::string(wrong) + "'; it must be a duration such as 500ms, 10s, 2h or 7d");
}

TEST(SettingValuesTest, SizesHaveUnits) {
  EXPECT_EQ(config::ParseBytes("1GiB")->count, 1ull << 30);
  EXPECT_EQ(config::ParseBytes("500MB")->count, 500'000'000u);
  EXPECT_EQ(config::ParseBytes("64K")->count, 65536u);
  EXPECT_EQ(config::ParseBytes("4096")->count, 4096u);
  EXPECT_EQ(config::ParseBytes("0.5GiB")->count, 1ull << 29);
  for (const char* wrong : {"", "GiB", "-1", "1 s", "1gib", "16777216TiB"})
    EXPECT_FALSE(config::ParseBytes(wrong)) << wrong;
}

// A setting of each kind, with fields of Options in other roles: the table need not have them all.
TEST(SettingValuesTest, WhatIsWrongSaysWhatIsRight) {
  config::Options options;
  const config::Setting choice{
      .key = "x", .field = &config::Options::listen, .fallback = "a", .choices = {"a", "b"}};
  EXPECT_EQ(config::SetValue(choice, "c", options).error().message,
            "is 'c'; it must be one of a, b");
  const config::Setting truth{.key = "x", .field = &config::Options::debug_info};
  EXPECT_EQ(config::SetValue(truth, "maybe", options).error().message,
            "is 'maybe'; it must be true or false");
  EXPECT_TRUE(config::SetValue(truth, "off", options));
  EXPECT_FALSE(options.debug_info);
}

TEST(SettingValuesTest, WhatACheckSaysIsPassedOn) {
  config::Options options;
  const auto set = config::SetValue(*config::FindSetting("listen"), "0.0.0.0:80", options);
  ASSERT_FALSE(set);
  EXPECT_THAT(set.error().message, HasSubstr("is '0.0.0.0:80': "));
  EXPECT_FALSE(set.error().hint.empty());
}

}  // namespace
}  // namespace profd::config
