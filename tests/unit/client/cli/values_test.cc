#include "client/cli/values.h"

#include <gtest/gtest.h>

namespace profd::client {
namespace {

TEST(ValuesTest, DurationsOfASession) {
  EXPECT_EQ(ParseDurationOf("-d", "10", kSessionLimits).value(), 10'000'000'000u);
  EXPECT_EQ(ParseDurationOf("-d", "24h", kSessionLimits).value(), 86'400'000'000'000u);
  EXPECT_EQ(ParseDurationOf("-d", "1ms", kSessionLimits).value(), 1'000'000u);
  for (const char* text : {"0", "-5", "25h", "10d"}) {
    const auto duration = ParseDurationOf("-d", text, kSessionLimits);
    ASSERT_FALSE(duration) << text;
    EXPECT_EQ(duration.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(duration.error().message,
              "-d " + std::string(text) + ": the duration must be between 1ms and 24h");
  }
  EXPECT_EQ(ParseDurationOf("-d", "ten", kSessionLimits).error().message, "-d ten: not a duration");
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
