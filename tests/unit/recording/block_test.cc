#include "daemon/recording/block.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace profd::recording {
namespace {

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

RawBlock SomeEvents() {
  RawBlock block;
  for (const char* text : {"", "a", "12345678", "a longer event"})
    AppendEvent(BytesOf(text), block);
  return block;
}

// A compressed block taken apart into header and contents.
struct Parts {
  BlockHeader header;
  std::vector<std::byte> stored;
};

Parts Compressed(const RawBlock& block, std::uint32_t number) {
  BlockCompressor compressor(1);
  const auto bytes = compressor.Compress(block, number);
  Parts parts;
  std::memcpy(&parts.header, bytes.data(), sizeof(parts.header));
  parts.stored.assign(bytes.begin() + sizeof(parts.header), bytes.end());
  return parts;
}

TEST(BlockTest, ContentsComeBack) {
  const RawBlock block = SomeEvents();
  const Parts parts = Compressed(block, 7);
  EXPECT_EQ(HeaderFault(parts.header, 7), "");
  EXPECT_EQ(parts.header.kind, BlockKind::kEvents);
  EXPECT_EQ(parts.header.records, 4u);
  EXPECT_EQ(parts.header.stored_bytes, parts.stored.size());
  BlockDecompressor decompressor;
  const auto contents = decompressor.Decompress(parts.header, parts.stored);
  ASSERT_TRUE(contents) << contents.error().message;
  std::span<const std::byte> rest = *contents;
  for (const char* text : {"", "a", "12345678", "a longer event"}) {
    std::span<const std::byte> event;
    ASSERT_TRUE(TakeEvent(rest, event));
    EXPECT_EQ(TextOf(event), text);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(event.data()) % 8, 0u);
  }
  EXPECT_TRUE(rest.empty());
}

TEST(BlockTest, EmptyBlock) {
  const Parts parts = Compressed({.kind = BlockKind::kFooter, .records = 0, .bytes = {}}, 0);
  BlockDecompressor decompressor;
  const auto contents = decompressor.Decompress(parts.header, parts.stored);
  ASSERT_TRUE(contents) << contents.error().message;
  EXPECT_TRUE(contents->empty());
}

TEST(BlockTest, AnyChangedBitOfAHeaderIsSeen) {
  const BlockHeader header = Compressed(SomeEvents(), 7).header;
  for (std::size_t bit = 0; bit < sizeof(header) * 8; ++bit) {
    BlockHeader damaged = header;
    auto* bytes = reinterpret_cast<unsigned char*>(&damaged);
    bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1u << (bit % 8)));
    EXPECT_NE(HeaderFault(damaged, 7), "") << "bit " << bit;
  }
}

TEST(BlockTest, SoundHeadersThatMayNotBe) {
  const auto fault = [](const auto& change) {
    BlockHeader header = Compressed(SomeEvents(), 7).header;
    change(header);
    header.check = HeaderCheck(header);
    return HeaderFault(header, 7);
  };
  EXPECT_EQ(fault([](BlockHeader&) {}), "");
  EXPECT_EQ(fault([](BlockHeader& h) { h.magic = 0; }), "no block begins here");
  EXPECT_EQ(fault([](BlockHeader& h) { h.number = 8; }), "a block is missing before this one");
  EXPECT_EQ(fault([](BlockHeader& h) { h.raw_bytes = kMaxBlockBytes + 1; }),
            "the block is larger than the format allows");
  EXPECT_EQ(fault([](BlockHeader& h) { h.stored_bytes = kMaxStoredBytes + 1; }),
            "the block is larger than the format allows");
  for (const int kind : {0, 5, 65535}) {
    EXPECT_EQ(fault([kind](BlockHeader& h) { h.kind = static_cast<BlockKind>(kind); }),
              "the block has a kind that this profd does not know");
  }
}

TEST(BlockTest, AnyChangedBitOfTheContentsIsSeenOrDoesNotMatter) {
  const RawBlock block = SomeEvents();
  const Parts parts = Compressed(block, 0);
  BlockDecompressor decompressor;
  std::size_t seen = 0;
  for (std::size_t bit = 0; bit < parts.stored.size() * 8; ++bit) {
    std::vector<std::byte> damaged = parts.stored;
    damaged[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    const auto contents = decompressor.Decompress(parts.header, damaged);
    if (contents) {
      EXPECT_EQ(TextOf(*contents), TextOf(block.bytes)) << "bit " << bit;
    } else {
      ++seen;
    }
  }
  EXPECT_GT(seen, parts.stored.size() * 7);
}

TEST(BlockTest, ContentsOfAnotherLengthThanTheHeaderSays) {
  Parts parts = Compressed(SomeEvents(), 0);
  BlockDecompressor decompressor;
  parts.header.raw_bytes += 8;
  EXPECT_FALSE(decompressor.Decompress(parts.header, parts.stored));
  parts.header.raw_bytes -= 16;
  EXPECT_FALSE(decompressor.Decompress(parts.header, parts.stored));
}

TEST(BlockTest, CutEventsAreNone) {
  const RawBlock block = SomeEvents();
  for (std::size_t length = 0; length < block.bytes.size(); ++length) {
    std::span<const std::byte> rest = std::span(block.bytes).first(length);
    std::span<const std::byte> event;
    std::size_t whole = 0;
    while (TakeEvent(rest, event)) ++whole;
    EXPECT_LT(whole, 4u);
  }
  RawBlock huge;
  AppendEvent(BytesOf("x"), huge);
  const EventFrame lie{.bytes = 0xffffffff};
  std::memcpy(huge.bytes.data(), &lie, sizeof(lie));
  std::span<const std::byte> rest = huge.bytes;
  std::span<const std::byte> event;
  EXPECT_FALSE(TakeEvent(rest, event));
}

TEST(BlockTest, EnvironmentRecordsComeBack) {
  RawBlock block{.kind = BlockKind::kEnvironment, .records = 0, .bytes = {}};
  AppendEnvironment("elf", "8:1:5:/bin/cat", std::string("a\0b", 3), block);
  AppendEnvironment("", "", "", block);
  AppendEnvironment("kallsyms", "", std::string(100'000, 'k'), block);
  EXPECT_EQ(block.records, 3u);
  std::span<const std::byte> rest = block.bytes;
  EnvironmentView record;
  ASSERT_TRUE(TakeEnvironment(rest, record));
  EXPECT_EQ(record.kind, "elf");
  EXPECT_EQ(record.key, "8:1:5:/bin/cat");
  EXPECT_EQ(record.value, std::string_view("a\0b", 3));
  ASSERT_TRUE(TakeEnvironment(rest, record));
  EXPECT_EQ(record.kind.size() + record.key.size() + record.value.size(), 0u);
  ASSERT_TRUE(TakeEnvironment(rest, record));
  EXPECT_EQ(record.value.size(), 100'000u);
  EXPECT_TRUE(rest.empty());
  EXPECT_FALSE(TakeEnvironment(rest, record));
}

TEST(BlockTest, EnvironmentLengthsThatOverflowAreRefused) {
  RawBlock block{.kind = BlockKind::kEnvironment, .records = 0, .bytes = {}};
  AppendEnvironment("kind", "key", "value", block);
  for (const std::uint64_t value_bytes : {~0ull, ~0ull - 7, ~0ull - 15, 1ull << 63, 1ull << 32}) {
    EnvironmentFrame frame{.kind_bytes = 4, .key_bytes = 3, .value_bytes = value_bytes};
    std::memcpy(block.bytes.data(), &frame, sizeof(frame));
    std::span<const std::byte> rest = block.bytes;
    EnvironmentView record;
    EXPECT_FALSE(TakeEnvironment(rest, record)) << value_bytes;
  }
  EnvironmentFrame frame{.kind_bytes = ~0u, .key_bytes = ~0u, .value_bytes = 0};
  std::memcpy(block.bytes.data(), &frame, sizeof(frame));
  std::span<const std::byte> rest = block.bytes;
  EnvironmentView record;
  EXPECT_FALSE(TakeEnvironment(rest, record));
}

}  // namespace
}  // namespace profd::recording
