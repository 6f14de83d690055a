#include "daemon/python/code/text_decoder.h"

#include <gtest/gtest.h>

#include <string>

namespace profd::python {
namespace {

// The bits of the state behind the interning state, as unicodeobject.h has them.
std::uint32_t State(std::uint32_t kind, bool ascii, unsigned interning_bits, bool compact = true) {
  return (kind | (compact ? 8u : 0u) | (ascii ? 16u : 0u)) << interning_bits | 1;
}

TEST(ParseStringState, KnowsTheFormsOfAllVersions) {
  for (const unsigned bits : {2u, 8u, 16u}) {
    for (const std::uint32_t kind : {1u, 2u, 4u}) {
      const auto form = ParseStringState(State(kind, false, bits));
      ASSERT_TRUE(form);
      EXPECT_EQ(form->bytes_each, kind);
      EXPECT_FALSE(form->ascii);
    }
    const auto ascii = ParseStringState(State(1, true, bits));
    ASSERT_TRUE(ascii);
    EXPECT_TRUE(ascii->ascii);
  }
}

TEST(ParseStringState, RefusesWhatIsNoString) {
  EXPECT_FALSE(ParseStringState(0));
  EXPECT_FALSE(ParseStringState(State(1, true, 2, false)));  // characters are elsewhere
  EXPECT_FALSE(ParseStringState(State(3, false, 2)));
  EXPECT_FALSE(ParseStringState(State(4, true, 2)));
}

TEST(ToUtf8, TakesAllWidths) {
  EXPECT_EQ(ToUtf8("abc", 1, 100), "abc");
  EXPECT_EQ(ToUtf8("\xe9", 1, 100), "é");
  EXPECT_EQ(ToUtf8(std::string("\xfd\x56\x70\x65", 4), 2, 100), "国数");
  EXPECT_EQ(ToUtf8(std::string("\x0d\xf4\x01\0a\0\0\0", 8), 4, 100), "🐍a");
}

TEST(ToUtf8, ReplacesWhatIsNoCharacter) {
  EXPECT_EQ(ToUtf8(std::string("\0\xd8", 2), 2, 100), "\uFFFD");  // lone surrogate
  EXPECT_EQ(ToUtf8(std::string("\xff\xff\xff\xff", 4), 4, 100), "\uFFFD");
}

TEST(ToUtf8, CutsBetweenCharacters) {
  EXPECT_EQ(ToUtf8("\xe9\xe9\xe9", 1, 5), "éé");
  EXPECT_EQ(ToUtf8("abc", 2, 100), "\u6261");  // half a character is left out
}

}  // namespace
}  // namespace profd::python
