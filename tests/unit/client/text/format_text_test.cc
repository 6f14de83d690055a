#include "client/text/format_text.h"

#include <gtest/gtest.h>

namespace profd::client {
namespace {

TEST(FormatText, DurationsHaveThreeDigitsAndAUnit) {
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

TEST(FormatText, CountsHaveSeparators) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  EXPECT_EQ(FormatCount(~0ull), "18,446,744,073,709,551,615");
}

TEST(FormatText, SharesHaveOneDecimal) {
  EXPECT_EQ(FormatShare(1, 3), "33.3 %");
  EXPECT_EQ(FormatShare(3, 3), "100.0 %");
  EXPECT_EQ(FormatShare(1, 0), "0.0 %");
}

TEST(FormatText, InstantsAreInUtc) {
  EXPECT_EQ(FormatInstant(0), "1970-01-01 00:00:00 UTC");
  EXPECT_EQ(FormatInstant(1'793'187'112'999'000'000), "2026-10-28 11:31:52 UTC");
}

}  // namespace
}  // namespace profd::client
