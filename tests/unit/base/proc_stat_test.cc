#include "daemon/base/proc/proc_stat.h"

#include <gtest/gtest.h>

namespace profd {
namespace {

TEST(StatField, CountsFromTheLastBracketOfTheName) {
  for (const char* stat : {"1 (a) S 4 5", "1 (a) R 1 2 3 (b) S 4 5", "1 () S 4 5\n"}) {
    EXPECT_EQ(StatField(stat, 4), 4u) << stat;
    EXPECT_EQ(StatField(stat, 5), 5u) << stat;
  }
}

TEST(StatField, WhatIsNotThereIsNone) {
  EXPECT_FALSE(StatField("", 4));
  EXPECT_FALSE(StatField("1 a S 4", 4)) << "no name";
  EXPECT_FALSE(StatField("1 (a) S 4", 3)) << "no number";
  EXPECT_FALSE(StatField("1 (a) S 4", 5));
  EXPECT_FALSE(StatField("1 (a) S -4", 4)) << "negative";
}

TEST(StatusLine, IsWhatFollowsTheKeyOnItsLine) {
  constexpr const char* kStatus = "Name:\tUid:\nState:\tS\nUid:\t1\t2\t3\t4\nGid:\t5";
  EXPECT_EQ(StatusLine(kStatus, "Uid:"), "\t1\t2\t3\t4") << "not in the name";
  EXPECT_EQ(StatusLine(kStatus, "Name:"), "\tUid:");
  EXPECT_EQ(StatusLine(kStatus, "Gid:"), "\t5") << "without an end of line";
  EXPECT_EQ(StatusLine(kStatus, "Groups:"), "");
  EXPECT_EQ(StatusLine("", "Uid:"), "");
}

}  // namespace
}  // namespace profd
