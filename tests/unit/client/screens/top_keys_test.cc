#include "client/screens/top/top_keys.h"

#include <gtest/gtest.h>

namespace profd::client {
namespace {

Key Text(const char* text) { return {KeyKind::kText, text}; }

TEST(TopKeysTest, LettersAndControlKeys) {
  KeyReader reader;
  EXPECT_EQ(reader.Read("f/\r\x7f\x03\x0c\x01"), (std::vector<Key>{Text("f"),
                                                                   Text("/"),
                                                                   {KeyKind::kEnter, ""},
                                                                   {KeyKind::kBackspace, ""},
                                                                   {KeyKind::kInterrupt, ""},
                                                                   {KeyKind::kRedraw, ""}}));
  EXPECT_FALSE(reader.pending());
}

TEST(TopKeysTest, SequencesAlsoInPieces) {
  KeyReader reader;
  EXPECT_EQ(reader.Read("\x1b[A\x1bOB\x1b[6~"),
            (std::vector<Key>{{KeyKind::kUp, ""}, {KeyKind::kDown, ""}, {KeyKind::kPageDown, ""}}));
  EXPECT_TRUE(reader.Read("\x1b").empty());
  EXPECT_TRUE(reader.Read("[").empty());
  EXPECT_TRUE(reader.pending());
  EXPECT_EQ(reader.Read("5~q"), (std::vector<Key>{{KeyKind::kPageUp, ""}, Text("q")}));
}

TEST(TopKeysTest, UnknownSequencesAreNoKeys) {
  KeyReader reader;
  EXPECT_EQ(reader.Read("\x1b[1;5Cq"), std::vector<Key>{Text("q")});
}

TEST(TopKeysTest, EscapeByItself) {
  KeyReader reader;
  EXPECT_TRUE(reader.Read("\x1b").empty());
  EXPECT_EQ(reader.Flush(), (std::vector<Key>{{KeyKind::kEscape, ""}}));
  EXPECT_FALSE(reader.pending());
  EXPECT_EQ(reader.Read("\x1bq"), (std::vector<Key>{{KeyKind::kEscape, ""}, Text("q")}));
}

TEST(TopKeysTest, CharactersOfSeveralBytesAreOneKey) {
  KeyReader reader;
  EXPECT_TRUE(reader.Read("\xc3").empty());
  EXPECT_EQ(reader.Read("\xa4"), std::vector<Key>{Text("\xc3\xa4")});
}

}  // namespace
}  // namespace profd::client
