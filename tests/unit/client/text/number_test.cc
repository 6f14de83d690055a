#include "client/text/number.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

namespace profd::client {
namespace {

TEST(NumberTest, DurationsHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(FormatDuration(0), "0 ns");
  EXPECT_EQ(FormatDuration(740), "740 ns");
  EXPECT_EQ(FormatDuration(999), "999 ns");
  EXPECT_EQ(FormatDuration(1'000), "1.00 us");
  EXPECT_EQ(FormatDuration(1'320'000), "1.32 ms");
  EXPECT_EQ(FormatDuration(12'345'678), "12.3 ms");
  EXPECT_EQ(FormatDuration(500'000'000), "500 ms");
  EXPECT_EQ(FormatDuration(10'000'000'000), "10.0 s");
  EXPECT_EQ(FormatDuration(999'000'000'000), "999 s");
}

TEST(NumberTest, RoundingGoesOverToTheNextDigitAndTheNextUnit) {
  EXPECT_EQ(FormatDuration(9'994'000), "9.99 ms");
  EXPECT_EQ(FormatDuration(9'996'000), "10.0 ms");
  EXPECT_EQ(FormatDuration(99'960'000), "100 ms");
  EXPECT_EQ(FormatDuration(999'400'000), "999 ms");
  EXPECT_EQ(FormatDuration(999'600'000), "1.00 s");
  EXPECT_EQ(FormatDuration(999'600), "1.00 ms");
}

TEST(NumberTest, LongTimesHaveTwoUnits) {
  EXPECT_EQ(FormatDuration(1'000'000'000'000), "16 min 40 s");
  EXPECT_EQ(FormatSpan(0), "0 s");
  EXPECT_EQ(FormatSpan(59'999'999'999), "59 s");
  EXPECT_EQ(FormatSpan(7'260'000'000'000), "2 h 1 min");
  EXPECT_EQ(FormatSpan(273'600'000'000'000), "3 d 4 h");
}

TEST(NumberTest, CountsHaveSeparators) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1'000), "1,000");
  EXPECT_EQ(FormatCount(1'234'567), "1,234,567");
  EXPECT_EQ(FormatCount(std::numeric_limits<std::uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(NumberTest, SharesHaveOneDecimalAndNoNegativeZero) {
  EXPECT_EQ(FormatShare(0.1724), "17.2 %");
  EXPECT_EQ(FormatShare(1), "100.0 %");
  EXPECT_EQ(FormatShare(0), "0.0 %");
  EXPECT_EQ(FormatShare(-0.0001), "0.0 %");
  EXPECT_EQ(FormatShare(std::numeric_limits<double>::quiet_NaN()), "- %");
  EXPECT_EQ(FormatSampledShare(0.05, true), "~5.0 %");
  EXPECT_EQ(FormatSampledShare(0.05, false), "5.0 %");
  EXPECT_EQ(FormatReach(0.012), " +-1.2");
  EXPECT_EQ(FormatReach(0.0004), "");
}

TEST(NumberTest, ReachesOfDurationsAreShownFromHalfOfTheLastDigitOn) {
  EXPECT_EQ(FormatDurationReach(49'999, 12'345'678), "");
  EXPECT_EQ(FormatDurationReach(50'000, 12'345'678), " +-50.0 us");
  EXPECT_EQ(FormatDurationReach(1'200'000, 12'345'678), " +-1.20 ms");
  EXPECT_EQ(FormatDurationReach(0, 5), "");
  EXPECT_EQ(FormatDurationReach(1, 5), " +-1 ns");
}

TEST(NumberTest, BytesAreBinary) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1.00 KiB");
  EXPECT_EQ(FormatBytes(412ull << 20), "412 MiB");
  EXPECT_EQ(FormatBytes((1ull << 30) - 1), "1.00 GiB");
}

TEST(NumberTest, DurationsAtEveryChangeOfUnit) {
  const std::pair<std::uint64_t, const char*> kCases[] = {{0, "0 ns"},
                                                          {999, "999 ns"},
                                                          {1000, "1.00 us"},
                                                          {9'994, "9.99 us"},
                                                          {9'995, "10.0 us"},
                                                          {99'949, "99.9 us"},
                                                          {99'950, "100 us"},
                                                          {999'499, "999 us"},
                                                          {999'500, "1.00 ms"},
                                                          {10'101'010, "10.1 ms"},
                                                          {10'000'000'000, "10.0 s"},
                                                          {999'499'999'999, "999 s"},
                                                          {1'000'000'000'000, "16 min 40 s"},
                                                          {12'000'000'000'000, "3 h 20 min"},
                                                          {360'000'000'000'000, "4 d 4 h"},
                                                          {~0ull, "213503 d 23 h"}};
  for (const auto& [ns, text] : kCases) EXPECT_EQ(FormatDuration(ns), text) << ns;
}

TEST(NumberTest, CountsOfEveryLength) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  EXPECT_EQ(FormatCount(~0ull), "18,446,744,073,709,551,615");
  EXPECT_EQ(FormatCount(1, "thread"), "1 thread");
  EXPECT_EQ(FormatCount(0, "thread"), "0 threads");
  EXPECT_EQ(FormatCount(1234, "process"), "1,234 processes");
}

TEST(NumberTest, SharesOfCountsHaveOneDecimal) {
  EXPECT_EQ(FormatShare(1, 3), "33.3 %");
  EXPECT_EQ(FormatShare(3, 3), "100.0 %");
  EXPECT_EQ(FormatShare(1, 0), "0.0 %");
}

TEST(NumberTest, InstantsAreInUtc) {
  EXPECT_EQ(FormatInstant(0), "1970-01-01 00:00:00 UTC");
  EXPECT_EQ(FormatInstant(1'793'187'112'999'000'000), "2026-10-28 11:31:52 UTC");
}

TEST(NumberTest, FactorsAndChangesAreShort) {
  EXPECT_EQ(FormatDecimals(1.25149, 2), "1.25");
  EXPECT_EQ(FormatDecimals(3, 1), "3.0");
  EXPECT_EQ(FormatFactor(1.5), "1.5");
  EXPECT_EQ(FormatFactor(1.0 / 3), "0.333");
  EXPECT_EQ(FormatFactor(2000), "2e+03");
  EXPECT_EQ(FormatChange(50, 1), "+50.0 %");
  EXPECT_EQ(FormatChange(-12.4, 0), "-12 %");
}

}  // namespace
}  // namespace profd::client
