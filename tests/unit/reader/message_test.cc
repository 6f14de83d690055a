#include "daemon/reader/message.h"

#include <gtest/gtest.h>

namespace profd::reader {
namespace {

TEST(Message, FieldsComeBackInOrder) {
  const std::string bytes =
      Packer().Number(std::uint64_t{1} << 40).Text("a\0b").Text("").Number(true).Take();
  Unpacker fields(bytes);
  EXPECT_EQ(fields.Number<std::uint64_t>(), std::uint64_t{1} << 40);
  EXPECT_EQ(fields.Text(), "a");
  EXPECT_EQ(fields.Text(), "");
  EXPECT_TRUE(fields.Number<bool>());
  EXPECT_TRUE(fields.done());
}

TEST(Message, WhatIsCutOffIsNoFieldAndNothingAfterItIs) {
  const std::string bytes = Packer().Text("text").Number(7).Take();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    Unpacker fields(std::string_view(bytes).substr(0, length));
    const std::string_view text = fields.Text();
    EXPECT_TRUE(text.empty() || text == "text");
    EXPECT_EQ(fields.Number<int>(), 0) << length;
    EXPECT_FALSE(fields.ok()) << length;
    EXPECT_FALSE(fields.done()) << length;
  }
}

TEST(Message, BytesThatAreLeftOverAreNotDone) {
  const std::string bytes = Packer().Number(1).Number(2).Take();
  Unpacker fields(bytes);
  EXPECT_EQ(fields.Number<int>(), 1);
  EXPECT_TRUE(fields.ok());
  EXPECT_FALSE(fields.done());
}

TEST(Message, ACountIsNotBelievedWhenTheBytesCannotHoldIt) {
  const std::string lying = Packer().Number(std::uint32_t{1'000'000}).Number(1).Take();
  Unpacker fields(lying);
  EXPECT_EQ(fields.Count(8), 0u);
  EXPECT_FALSE(fields.ok());

  const std::string honest = Packer().Number(std::uint32_t{2}).Number(1).Number(2).Take();
  Unpacker others(honest);
  EXPECT_EQ(others.Count(sizeof(int)), 2u);
  EXPECT_TRUE(others.ok());
}

}  // namespace
}  // namespace profd::reader
