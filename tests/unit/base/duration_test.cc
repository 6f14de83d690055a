#include "daemon/base/duration.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace profd {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kSecond = 1'000 * kMs;
constexpr std::uint64_t kHour = 3600 * kSecond;

std::uint64_t Ns(std::string_view text, const DurationLimits& limits = {}) {
  const auto duration = ParseDuration(text, limits);
  EXPECT_TRUE(duration) << text << ": " << (duration ? "" : duration.error().message);
  return duration ? *duration : 0;
}

std::string Message(std::string_view text, const DurationLimits& limits = {}) {
  const auto duration = ParseDuration(text, limits);
  EXPECT_FALSE(duration) << text;
  if (duration) return "";
  EXPECT_EQ(duration.error().code, ErrorCode::kInvalidArgument) << text;
  return duration.error().message;
}

TEST(DurationTest, EveryUnit) {
  EXPECT_EQ(Ns("7ns"), 7u);
  EXPECT_EQ(Ns("2500us"), 2'500'000u);
  EXPECT_EQ(Ns("500ms"), 500 * kMs);
  EXPECT_EQ(Ns("90s"), 90 * kSecond);
  EXPECT_EQ(Ns("90sec"), 90 * kSecond);
  EXPECT_EQ(Ns("30m"), kHour / 2);
  EXPECT_EQ(Ns("30min"), kHour / 2);
  EXPECT_EQ(Ns("1h"), kHour);
  EXPECT_EQ(Ns("7d"), 168 * kHour);
  EXPECT_EQ(Ns("1w"), 168 * kHour);
}

TEST(DurationTest, FractionsAndSpaces) {
  EXPECT_EQ(Ns("1.5h"), kHour * 3 / 2);
  EXPECT_EQ(Ns("1.5 h"), kHour * 3 / 2);
  EXPECT_EQ(Ns("0.2"), 200 * kMs);
  EXPECT_EQ(Ns("0"), 0u);
  EXPECT_EQ(Ns("0.6ns"), 1u) << "rounded";
}

TEST(DurationTest, ANumberWithoutAUnitIsInSecondsUnlessTheCallerNeedsOne) {
  EXPECT_EQ(Ns("19"), 19 * kSecond);
  EXPECT_EQ(Message("19", {.needs_unit = true}), "not a duration");
  EXPECT_EQ(Ns("19s", {.needs_unit = true}), 19 * kSecond);
}

TEST(DurationTest, WhatIsNoDuration) {
  for (const char* text :
       {"",    "s",    "ten", "1e3", "1e3s", "inf",  "nan", "0x10", "1.2.3", "1..5h", " 10", "+5",
        "--5", "-inf", ".",   "5S",  "1x",   "10s ", "1s2", "10 ",  "1h30m", "-",     "- 5", "1 5"})
    EXPECT_EQ(Message(text), "not a duration") << text;
}

TEST(DurationTest, LimitsBelongToTheAllowedValuesAndAreNamed) {
  const DurationLimits limits{.least = "1ms", .most = "24h"};
  EXPECT_EQ(Ns("1ms", limits), kMs);
  EXPECT_EQ(Ns("24h", limits), 24 * kHour);
  for (const char* text : {"0", "0s", "-5", "-1ms", "0.5ms", "999us", "25h", "86401", "10d",
                           "99999999999999999999999999999", "1000000h"})
    EXPECT_EQ(Message(text, limits), "the duration must be between 1ms and 24h") << text;
  EXPECT_EQ(Message("1ms", {.least = "1s"}), "the duration must be at least 1s");
  EXPECT_EQ(Message("2s", {.most = "1s"}), "the duration must be at most 1s");
}

TEST(DurationTest, WithoutALimitItFitsASignedNumberOfNanoseconds) {
  EXPECT_EQ(Ns("106751d"), 106'751 * 24 * kHour);
  EXPECT_EQ(Message("106752d"), "the duration must be at most 290 years");
  EXPECT_EQ(Message("99999999999d"), "the duration must be at most 290 years");
}

TEST(DurationTest, TheHintShowsHowToWriteOneWithinTheLimits) {
  EXPECT_EQ(ParseDuration("x", {.most = "24h"}).error().hint,
            "write 500ms, 10s or 2h; a number without a unit is in seconds");
  EXPECT_EQ(DurationForms({.least = "1min", .most = "1d"}), "2h");
  EXPECT_EQ(ParseDuration("x").error().hint,
            "write 500ms, 10s, 2h or 7d; a number without a unit is in seconds");
  EXPECT_EQ(ParseDuration("x", {.needs_unit = true}).error().hint, "write 500ms, 10s, 2h or 7d");
}

TEST(DurationTest, TextsAreShortAndReadBack) {
  EXPECT_EQ(DurationText(0), "0s");
  EXPECT_EQ(DurationText(kHour), "1h");
  EXPECT_EQ(DurationText(90 * kSecond), "90s");
  EXPECT_EQ(DurationText(1500 * kMs), "1500ms");
  for (const std::uint64_t ns :
       {std::uint64_t{1}, 999 * kMs, 60 * kSecond, 24 * kHour, 168 * kHour})
    EXPECT_EQ(Ns(DurationText(ns)), ns);
}

}  // namespace
}  // namespace profd
