#include "client/profile/wait_reasons.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>

namespace profd::client {
namespace {

TEST(WaitReasonsTest, AreCalledAsInTheProtocol) {
  for (const WaitReasonEntry& entry : WaitReasons()) {
    std::string name = "WAIT_" + std::string(entry.reason == v1::WAIT_NONE ? "none" : entry.name());
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
    EXPECT_EQ(name, v1::WaitReason_Name(entry.reason));
  }
  EXPECT_EQ(EntryOf(v1::WAIT_NONE).frame, "[blocked]");
  EXPECT_EQ(EntryOf(v1::WAIT_NONE).name(), "");
  EXPECT_EQ(EntryOf(v1::WAIT_LOCK).frame, "[blocked:lock]");
}

TEST(WaitReasonsTest, WhatANewerProfdMayKnowIsOther) {
  EXPECT_EQ(EntryOf(static_cast<v1::WaitReason>(1000)).reason, v1::WAIT_OTHER);
}

TEST(WaitReasonsTest, HaveAColourOnLightAndOnDarkPaper) {
  const std::regex colour("#[0-9a-f]{6}");
  for (const WaitReasonEntry& entry : WaitReasons()) {
    if (entry.reason == v1::WAIT_NONE || entry.reason == v1::WAIT_OTHER) continue;
    EXPECT_TRUE(std::regex_match(std::string(entry.light), colour)) << entry.name();
    EXPECT_TRUE(std::regex_match(std::string(entry.dark), colour)) << entry.name();
  }
}

}  // namespace
}  // namespace profd::client
