#include "client/web/server/web_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace profd::client {
namespace {

TEST(WebTokenTest, IsOf128BitsInHexAndAlwaysAnother) {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) {
    const auto token = MakeWebToken();
    ASSERT_TRUE(token.ok()) << token.error().message;
    EXPECT_THAT(*token, testing::MatchesRegex("[0-9a-f]{32}"));
    tokens.insert(*token);
  }
  EXPECT_EQ(tokens.size(), 100u);
}

TEST(WebTokenTest, IsTheSameInEveryDigit) {
  const std::string token = "0123456789abcdef0123456789abcdef";
  EXPECT_TRUE(IsSameToken(token, token));
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(IsSameToken(token, other)) << i;
  }
  EXPECT_FALSE(IsSameToken(token, ""));
  EXPECT_FALSE(IsSameToken(token, token.substr(1)));
  EXPECT_FALSE(IsSameToken(token, token + "0"));
}

}  // namespace
}  // namespace profd::client
