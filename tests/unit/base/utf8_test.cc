#include "daemon/base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace profd {
namespace {

std::vector<CodePoint> Split(std::string_view text) {
  std::vector<CodePoint> points;
  while (!text.empty()) points.push_back(TakeCodePoint(text));
  return points;
}

TEST(Utf8, CodePointsOfEveryLengthAreTakenOneByOne) {
  const auto points = Split("a\xC3\xBC\xE6\x97\xA5\xF0\x9F\x90\x8D");
  ASSERT_EQ(points.size(), 4u);
  const char32_t codes[] = {U'a', U'ü', U'日', U'🐍'};
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_TRUE(points[i].valid);
    EXPECT_EQ(points[i].code, codes[i]);
    EXPECT_EQ(points[i].bytes.size(), i + 1);
  }
}

TEST(Utf8, EveryCodePointButSurrogatesIsValid) {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    std::string text;  // by the definition of UTF-8
    if (code < 0x80) {
      text = {static_cast<char>(code)};
    } else if (code < 0x800) {
      text = {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
    } else if (code < 0x10000) {
      text = {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
              static_cast<char>(0x80 | (code & 0x3F))};
    } else {
      text = {static_cast<char>(0xF0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 0x3F)),
              static_cast<char>(0x80 | (code >> 6 & 0x3F)),
              static_cast<char>(0x80 | (code & 0x3F))};
    }
    std::string_view rest = text;
    const CodePoint taken = TakeCodePoint(rest);
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    ASSERT_EQ(taken.valid, !surrogate) << std::hex << static_cast<std::uint32_t>(code);
    ASSERT_EQ(taken.bytes.size(), surrogate ? 1 : text.size());
    ASSERT_EQ(taken.code, surrogate ? 0 : code);
  }
}

TEST(Utf8, WhatIsAppendedIsTakenAgain) {
  for (const char32_t code : {0x0u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    std::string text = "a";
    AppendCodePoint(text, code);
    std::string_view rest = std::string_view(text).substr(1);
    const CodePoint taken = TakeCodePoint(rest);
    EXPECT_TRUE(taken.valid);
    EXPECT_EQ(taken.code, code);
    EXPECT_EQ(rest, "");
  }
}

TEST(Utf8, BytesThatAreNoUtf8AreTakenOneByOne) {
  const std::string kBad(kReplacementCharacter);
  EXPECT_EQ(ValidUtf8("\xFF\xFE"), kBad + kBad);
  EXPECT_EQ(ValidUtf8("\x80z"), kBad + "z");
  EXPECT_EQ(ValidUtf8("a\xE2\x82"), "a" + kBad + kBad);                            // cut short
  EXPECT_EQ(ValidUtf8("\xE2\x82(\xC3"), kBad + kBad + "(" + kBad);                 // cut short
  EXPECT_EQ(ValidUtf8("\xC0\xAF"), kBad + kBad);                                   // overlong
  EXPECT_EQ(ValidUtf8("\xE0\x80\xAF"), kBad + kBad + kBad);                        // overlong
  EXPECT_EQ(ValidUtf8("\xF0\x80\x80\xAF"), kBad + kBad + kBad + kBad);             // overlong
  EXPECT_EQ(ValidUtf8("\xED\xA0\x80"), kBad + kBad + kBad);                        // surrogate
  EXPECT_EQ(ValidUtf8("\xF4\x90\x80\x80"), kBad + kBad + kBad + kBad);             // above U+10FFFF
  EXPECT_EQ(ValidUtf8("\xF8\x88\x80\x80\x80"), kBad + kBad + kBad + kBad + kBad);  // five bytes
}

TEST(Utf8, ValidTextStaysAsItIs) {
  using std::string_literals::operator""s;
  const std::string text = "grüße 統計 \xF0\x9F\x94\xA5 \0 \x1b"s;
  EXPECT_EQ(ValidUtf8(text), text);
  EXPECT_EQ(ValidUtf8(""), "");
}

TEST(Utf8, WhatBreaksLinesTerminalsAndReadingOrderIsUnsafe) {
  for (const char32_t code :
       {0x0,     0x9,     0xA,     0x1B,   0x7F,    0x85,    0x9B,  // C0, DEL, C1
        0xAD,    0x200B,  0x200D,  0x2060, 0x2064,  0xFEFF,         // invisible
        0x61C,   0x200E,  0x200F,  0x202A, 0x202E,  0x2066,         // direction of writing
        0x2069,  0x2028,  0x2029,  0xFFF9, 0xFFFB,                  // separators, annotations
        0xE0001, 0xE007F, 0xE0100,                                  // tags, selectors
        0xFDD0,  0xFDEF,  0xFFFE,  0xFFFF, 0x1FFFE, 0x10FFFF})
    EXPECT_TRUE(IsUnsafeToPrint(code)) << std::hex << static_cast<std::uint32_t>(code);
}

TEST(Utf8, WhatPeopleReadIsSafe) {
  for (const char32_t code : {U' ', U'~', U'é', U'ß', U'я', U'א', U'ع', U'統', U'한', U'🔥', U'€',
                              U'\u0301', U'\u00A0', U'\uFFFD', U'\U000E1000'})
    EXPECT_FALSE(IsUnsafeToPrint(code)) << std::hex << static_cast<std::uint32_t>(code);
}

}  // namespace
}  // namespace profd
