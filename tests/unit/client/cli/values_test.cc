#include "client/cli/values.h"

#include <gtest/gtest.h>

namespace profd::client {
namespace {

std::uint64_t Ns(std::string_view text) {
  const auto duration = ParseDuration(text);
  EXPECT_TRUE(duration) << text;
  return duration ? *duration : 0;
}

TEST(ValuesTest, Durations) {
  EXPECT_EQ(Ns("10s"), 10'000'000'000u);
  EXPECT_EQ(Ns("10"), 10'000'000'000u);
  EXPECT_EQ(Ns("0.2"), 200'000'000u);
  EXPECT_EQ(Ns("1.5s"), 1'500'000'000u);
  EXPECT_EQ(Ns("500ms"), 500'000'000u);
  EXPECT_EQ(Ns("2500us"), 2'500'000u);
  EXPECT_EQ(Ns("2m"), 120'000'000'000u);
  EXPECT_EQ(Ns("2min"), 120'000'000'000u);
  EXPECT_EQ(Ns("24h"), 86'400'000'000'000u);
  EXPECT_EQ(Ns("1ms"), 1'000'000u);
}

TEST(ValuesTest, DurationsThatAreNone) {
  for (const char* text : {"", "s", "ten", "1e3", "inf", "nan", "0x10", "1.2.3", "10 s", " 10",
                           "10d", "+5", "--5", ".", "5S"}) {
    const auto duration = ParseDuration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_EQ(duration.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(ValuesTest, ZeroNegativeAndAbsurdOnesAreRefusedWithTheRange) {
  for (const char* text : {"0", "0s", "0.0", "-5", "-1ms", "0.5ms", "999us", "25h", "86401",
                           "99999999999999999999999999999", "1000000h"}) {
    const auto duration = ParseDuration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_NE(duration.error().message.find("between 1ms and 24h"), std::string::npos)
        << duration.error().message;
  }
}

TEST(ValuesTest, Ids) {
  std::vector<std::uint32_t> ids;
  ASSERT_TRUE(ParseIds("-p", "12,13", ids));
  ASSERT_TRUE(ParseIds("-p", "13,14", ids));
  EXPECT_EQ(ids, (std::vector<std::uint32_t>{12, 13, 14}));
  for (const char* text :
       {"", ",", "1,", ",1", "a", "1 2", "-1", "0", "4294967296", "2147483648"}) {
    std::vector<std::uint32_t> none;
    EXPECT_FALSE(ParseIds("-p", text, none)) << text;
  }
}

TEST(ValuesTest, Frequencies) {
  EXPECT_EQ(*ParseFrequency("99"), 99u);
  EXPECT_EQ(*ParseFrequency("1"), 1u);
  for (const char* text : {"", "0", "-1", "1.5", "99Hz", "1000001", "99999999999"})
    EXPECT_FALSE(ParseFrequency(text)) << text;
}

TEST(ValuesTest, Budgets) {
  EXPECT_DOUBLE_EQ(*ParseBudget("5%"), 0.05);
  EXPECT_DOUBLE_EQ(*ParseBudget("0.5%"), 0.005);
  EXPECT_DOUBLE_EQ(*ParseBudget("200%"), 2);
  EXPECT_LT(*ParseBudget("off"), 0);
  for (const char* text : {"", "5", "%", "0%", "-1%", "6401%", "nan%", "inf%", "5%%", "Off"})
    EXPECT_FALSE(ParseBudget(text)) << text;
}

}  // namespace
}  // namespace profd::client
