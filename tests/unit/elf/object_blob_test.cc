#include "daemon/elf/sources/object_blob.h"

#include <gtest/gtest.h>

#include <string>

namespace profd::elf {
namespace {

ObjectBlob Example() {
  ObjectBlob blob;
  blob.info.build_id = "0123abcd";
  blob.info.segments = {{0x1000, 0x401000, 0x2345, true}, {0, ~0ull, 1, false}};
  blob.info.symbols_from = SymbolOrigin::kDynsym;
  blob.info.symbols_missing = "stripped";
  blob.symbols = {
      {0x401000, 0x401010, "main"}, {1, 2, std::string("nul\0\xff", 5)}, {5, ~0ull, ""}};
  return blob;
}

TEST(ObjectBlob, ComesBackAsItWas) {
  const ObjectBlob blob = Example();
  const Result<ObjectBlob> decoded = DecodeObjectBlob(EncodeObjectBlob(blob));
  ASSERT_TRUE(decoded);
  EXPECT_FALSE(decoded->failure);
  EXPECT_EQ(decoded->info, blob.info);
  ASSERT_EQ(decoded->symbols.size(), blob.symbols.size());
  for (std::size_t i = 0; i < blob.symbols.size(); ++i) {
    EXPECT_EQ(decoded->symbols[i].begin, blob.symbols[i].begin);
    EXPECT_EQ(decoded->symbols[i].end, blob.symbols[i].end);
    EXPECT_EQ(decoded->symbols[i].name, blob.symbols[i].name);
  }
}

TEST(ObjectBlob, AFailureComesBackAsItWas) {
  ObjectBlob blob;
  blob.failure = Error{ErrorCode::kNotFound, "file gone", ""};
  const Result<ObjectBlob> decoded = DecodeObjectBlob(EncodeObjectBlob(blob));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->failure->code, ErrorCode::kNotFound);
  EXPECT_EQ(decoded->failure->message, "file gone");
}

TEST(ObjectBlob, BytesAreFixed) {
  ObjectBlob blob;
  blob.info.build_id = "ab";
  blob.symbols = {{0x10, 0x20, "f"}};
  blob.sources = {{0x11, {{"g", "a.c", 7}}}, {0x12, {}}};
  const std::string expected(
      "\2\0"        // version, no failure
      "\2\0\0\0ab"  // build id
      "\0\0\0\0\0"  // no symbol table, nothing said about it
      "\0\0\0\0"    // segments
      "\1\0\0\0\x10\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0\1\0\0\0f"
      "\0\0\0\0\0\0\0\0\0\0\0\0"  // neither symbols' file nor debug file, nothing missing
      "\2\0\0\0"                  // addresses with a source: one frame, and none
      "\x11\0\0\0\0\0\0\0\1\1\0\0\0g\3\0\0\0a.c\7\0\0\0"
      "\x12\0\0\0\0\0\0\0\0",
      42 + 16 + 25 + 9);
  EXPECT_EQ(EncodeObjectBlob(blob), expected);
}

TEST(ObjectBlob, AnyDamageIsAnErrorOrAnotherBlob) {
  const std::string whole = EncodeObjectBlob(Example());
  for (std::size_t length = 0; length < whole.size(); ++length)
    ASSERT_FALSE(DecodeObjectBlob(whole.substr(0, length))) << length;
  ASSERT_FALSE(DecodeObjectBlob(whole + "x"));
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      if (!DecodeObjectBlob(damaged)) ++refused;
    }
  }
  EXPECT_GT(refused, 20u);
}

}  // namespace
}  // namespace profd::elf
