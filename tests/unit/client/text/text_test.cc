#include "client/text/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

TEST(TextTest, ControlCharactersAreNeverPassedOn) {
  EXPECT_EQ(SafeText("a\x1b[31mb\nc\td\x7f"), "a?[31mb?c?d?");
  EXPECT_EQ(SafeText(std::string("a\0b", 3)), "a?b");
  EXPECT_EQ(SafeText("c1 \xc2\x9b z"), "c1 ? z");
  EXPECT_EQ(SafeText("rtl \xe2\x80\xae z"), "rtl ? z");
  EXPECT_EQ(SafeText("zero \xe2\x80\x8b width"), "zero ? width");
}

TEST(TextTest, WhatIsNoUtf8IsReplacedByteByByte) {
  EXPECT_EQ(SafeText("\xff\xfe"), "??");
  EXPECT_EQ(SafeText("\xc0\xaf overlong"), "?? overlong");
  EXPECT_EQ(SafeText("\xed\xa0\x80 surrogate"), "??? surrogate");
  EXPECT_EQ(SafeText("\xf4\x90\x80\x80 too large"), "???? too large");
  EXPECT_EQ(SafeText("cut \xe4\xbd"), "cut ??");
  EXPECT_EQ(SafeText("naïve 你好 🚀"), "naïve 你好 🚀");
}

TEST(TextTest, WidthIsThatOfATerminal) {
  EXPECT_EQ(DisplayWidth(""), 0u);
  EXPECT_EQ(DisplayWidth("main"), 4u);
  EXPECT_EQ(DisplayWidth("naïve"), 5u);
  EXPECT_EQ(DisplayWidth("e\xcc\x81"), 1u);  // with a combining accent
  EXPECT_EQ(DisplayWidth("你好"), 4u);
  EXPECT_EQ(DisplayWidth("🚀"), 2u);
}

TEST(TextTest, NamesAreCutInTheMiddle) {
  EXPECT_EQ(CutMiddle("short", 5), "short");
  EXPECT_EQ(CutMiddle("abcdefghij", 9), "abc...hij");
  EXPECT_EQ(CutMiddle("abcdefghij", 8), "abc...ij");
  EXPECT_EQ(CutMiddle("abcdefghij", 3), "...");
  EXPECT_EQ(CutMiddle("abcdefghij", 0), "");
}

TEST(TextTest, ACutNeverDividesACharacterNorExceedsTheWidth) {
  const std::string wide = "你好世界你好世界";
  for (std::size_t width = 0; width < 20; ++width) {
    const std::string cut = CutMiddle(wide, width);
    EXPECT_LE(DisplayWidth(cut), width);
    EXPECT_EQ(SafeText(cut), cut);
  }
}

TEST(TextTest, ListsLoseWholeItems) {
  const std::string list = "lock 79.8 %, gil 1.6 %, io 0.5 %";
  EXPECT_EQ(CutList(list, 40), list);
  EXPECT_EQ(CutList(list, 31), "lock 79.8 %, gil 1.6 %, ...");
  EXPECT_EQ(CutList(list, 26), "lock 79.8 %, ...");
  EXPECT_EQ(CutList(list, 12), "lock 79.8 %");
  EXPECT_EQ(CutList(list, 10), "...");
  EXPECT_EQ(CutList(list, 2), "");
}

TEST(TextTest, PaddingCountsColumns) {
  EXPECT_EQ(PadRight("你", 4), "你  ");
  EXPECT_EQ(PadLeft("你", 4), "  你");
  EXPECT_EQ(PadLeft("long", 2), "long");
}

TEST(TextTest, LinesBreakBetweenWords) {
  using ::testing::ElementsAre;
  EXPECT_THAT(WrapWords("one two  three", 80, 80), ElementsAre("one two three"));
  EXPECT_THAT(WrapWords("one two three", 7, 7), ElementsAre("one two", "three"));
  EXPECT_THAT(WrapWords("one two three", 3, 9), ElementsAre("one", "two three"));
  EXPECT_THAT(WrapWords("wordy is 你好", 2, 7), ElementsAre("wordy", "is 你好"));
  EXPECT_THAT(WrapWords("wordy is 你好", 2, 6), ElementsAre("wordy", "is", "你好"));
  EXPECT_THAT(WrapWords("", 3, 3), ElementsAre(""));
}

TEST(TextTest, HostileNamesComeOutHarmless) {
  for (const std::string& name : testing::HostileNames()) {
    const std::string safe = SafeText(name);
    for (const char c : safe) {
      EXPECT_GE(static_cast<unsigned char>(c), 0x20u) << safe;
      EXPECT_NE(c, '\x7f') << safe;
    }
    EXPECT_EQ(SafeText(safe), safe);
  }
}

}  // namespace
}  // namespace profd::client
