#include "client/cli/suggestions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace profd::client {
namespace {

TEST(SuggestionsTest, ClosestIsCloseOrNothing) {
  const std::vector<std::string> words{"collect", "status", "formats"};
  EXPECT_EQ(ClosestOf("colelct", words), "collect");
  EXPECT_EQ(ClosestOf("stat", words), "status");
  EXPECT_EQ(ClosestOf("format", words), "formats");
  EXPECT_EQ(ClosestOf("banana", words), "");
  EXPECT_EQ(ClosestOf("", words), "");
}

}  // namespace
}  // namespace profd::client
