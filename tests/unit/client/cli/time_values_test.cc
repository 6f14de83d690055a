#include "client/cli/time_values.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace profd::client {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kHour = 3600 * kSecond;
// 2026-11-20 14:05:00 UTC.
constexpr std::uint64_t kNow = 1'795'183'500 * kSecond;

// Two hours east of Greenwich in summer, one in winter.
class TimeValuesTest : public testing::Test {
 protected:
  TimeValuesTest() { SetZone("CET-1CEST,M3.5.0,M10.5.0/3"); }
  ~TimeValuesTest() override { SetZone(nullptr); }
  static void SetZone(const char* zone) {
    if (zone == nullptr)
      ::unsetenv("TZ");
    else
      ::setenv("TZ", zone, 1);
    ::tzset();
  }
  static std::uint64_t At(std::string_view text) {
    const auto time = ParseTime("--from", text, kNow);
    EXPECT_TRUE(time) << text << ": " << (time ? "" : time.error().message);
    return time ? *time : 0;
  }
};

TEST_F(TimeValuesTest, Spans) {
  EXPECT_EQ(ParseDuration("1h", kSpanLimits).value(), kHour);
  EXPECT_EQ(ParseDuration("30m", kSpanLimits).value(), kHour / 2);
  EXPECT_EQ(ParseDuration("2d", kSpanLimits).value(), 48 * kHour);
  EXPECT_EQ(ParseDuration("1.5h", kSpanLimits).value(), kHour * 3 / 2);
  EXPECT_EQ(ParseDuration("1w", kSpanLimits).value(), 168 * kHour);
  EXPECT_EQ(ParseDuration("90s", kSpanLimits).value(), 90 * kSecond);
  for (const char* text : {"", "1", "h", "-1h", "1x", "0s", "1e9h", "99999d", "1h30m", "1..5h"})
    EXPECT_FALSE(ParseDuration(text, kSpanLimits)) << text;
}

TEST_F(TimeValuesTest, TimesOfDayAreTheLastOnesThatWere) {
  // It is 15:05 there.
  EXPECT_EQ(At("15:05"), kNow);
  EXPECT_EQ(At("14:05"), kNow - kHour);
  EXPECT_EQ(At("14:05:30"), kNow - kHour + 30 * kSecond);
  EXPECT_EQ(At("15:06"), kNow + 60 * kSecond - 24 * kHour) << "yesterday";
}

TEST_F(TimeValuesTest, DatesAreLocal) {
  EXPECT_EQ(At("2026-11-20 15:05"), kNow);
  EXPECT_EQ(At("2026-11-20T15:05:00"), kNow);
  EXPECT_EQ(At("2026-11-20"), kNow - 15 * kHour - 300 * kSecond);
  EXPECT_EQ(At("2026-07-01 12:00"), 1'782'900'000 * kSecond) << "10:00 UTC in summer";
}

TEST_F(TimeValuesTest, Rfc3339HasItsZone) {
  EXPECT_EQ(At("2026-11-20T14:05:00Z"), kNow);
  EXPECT_EQ(At("2026-11-20t14:05:00z"), kNow);
  EXPECT_EQ(At("2026-11-20T14:05:00.75Z"), kNow);
  EXPECT_EQ(At("2026-11-20T09:35:00-04:30"), kNow);
  EXPECT_EQ(At("2026-11-20T16:05:00+02:00"), kNow);
}

TEST_F(TimeValuesTest, AgoAndNow) {
  EXPECT_EQ(At("now"), kNow);
  EXPECT_EQ(At("2h"), kNow - 2 * kHour);
}

TEST_F(TimeValuesTest, WhatIsNoTimeIsRefusedWithItsForms) {
  for (const char* text :
       {"", "25:00", "14:60", "14", "1405", "2026-13-01", "2026-02-31", "2026-11-20 14",
        "yesterday", "2026-11-20T14:05:00+0200", "2026-11-20 14:05 x", "-1:05", "1969-01-01"}) {
    const auto time = ParseTime("--to", text, kNow);
    ASSERT_FALSE(time) << text;
    EXPECT_EQ(time.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(time.error().hint.find("14:05"), std::string::npos) << text;
  }
}

TEST_F(TimeValuesTest, RangesNameADayOnce) {
  EXPECT_EQ(FormatTime(kNow), "2026-11-20 15:05:00");
  EXPECT_EQ(FormatRange(kNow - kHour, kNow), "2026-11-20 14:05:00 to 15:05:00");
  EXPECT_EQ(FormatRange(kNow - 24 * kHour, kNow), "2026-11-19 15:05:00 to 2026-11-20 15:05:00");
}

}  // namespace
}  // namespace profd::client
