#include "daemon/symbolize/names/clean_text.h"

#include <gtest/gtest.h>

#include <string>

namespace profd::symbolize {
namespace {

TEST(CleanText, LeavesReadableTextAlone) {
  EXPECT_EQ(CleanText(""), "");
  EXPECT_EQ(CleanText("std::vector<int>::push_back"), "std::vector<int>::push_back");
  EXPECT_EQ(CleanText("main·fün(日本)\xf0\x9f\x90\x8d"), "main·fün(日本)\xf0\x9f\x90\x8d");
}

TEST(CleanText, ReplacesWhatWouldHarmATerminalOrAFile) {
  EXPECT_EQ(CleanText("a\nb\tc\x1b[31m\x7f"), "a?b?c?[31m?");
  EXPECT_EQ(CleanText(std::string("nul\0byte", 8)), "nul?byte");
  EXPECT_EQ(CleanText("\xc2\x9b"), "?") << "CSI as one C1 character";
  EXPECT_EQ(CleanText("\xe2\x80\xae"), "?") << "right-to-left override";
  EXPECT_EQ(CleanText("\xe2\x80\xa8"), "?") << "line separator";
}

TEST(CleanText, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(CleanText("a\xff\xfe"), "a??");
  EXPECT_EQ(CleanText("\xe6\x97"), "??") << "cut short";
  EXPECT_EQ(CleanText("\xc0\xaf"), "??") << "overlong";
  EXPECT_EQ(CleanText("\xe0\x80\x80"), "???") << "overlong";
  EXPECT_EQ(CleanText("\xed\xa0\x80"), "???") << "surrogate";
  EXPECT_EQ(CleanText("\xf4\x90\x80\x80"), "????") << "beyond Unicode";
}

TEST(CleanText, CutsBetweenCharacters) {
  EXPECT_EQ(CleanText("0123456789", 10), "0123456789");
  EXPECT_EQ(CleanText("0123456789x", 10), "0123456...");
  EXPECT_EQ(CleanText("012345\xe6\x97\xa5xyz", 10), "012345...")
      << "the character is whole or not there";
  EXPECT_EQ(CleanText("0123", 2), "..");
  EXPECT_EQ(CleanText(std::string(100'000, 'a')).size(), kMaxTextBytes);
}

}  // namespace
}  // namespace profd::symbolize
