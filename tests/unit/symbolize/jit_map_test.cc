#include "daemon/symbolize/live/jit_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace profd::symbolize {
namespace {

std::string NameAt(const JitMap& map, std::uint64_t address) {
  const auto symbol = map.Find(address);
  return symbol ? std::string(symbol->name) : "-";
}

TEST(JitMap, LaterCodeTakesThePlaceOfWhatItCovers) {
  JitMap map;
  map.Add(0x100, 0x100, "first");
  map.Add(0x200, 0x10, "second");
  map.Add(0x180, 0x88, "third");
  EXPECT_EQ(NameAt(map, 0x17f), "first");
  EXPECT_EQ(NameAt(map, 0x180), "third");
  EXPECT_EQ(NameAt(map, 0x207), "third");
  EXPECT_EQ(NameAt(map, 0x208), "-");
  EXPECT_EQ(NameAt(map, 0xff), "-");
}

TEST(JitMap, IsBounded) {
  JitMap map;
  const std::string name(4000, 'n');
  for (std::uint64_t i = 0; i < 20'000; ++i) map.Add(i * 16, 16, name);
  EXPECT_LE(map.bytes(), JitMap::kMaxBytes);
  EXPECT_GT(map.left_out(), 0u);
  map.Add(~std::uint64_t{0} - 4, 100, "at the end");
}

TEST(PerfMap, LinesAndTheRestThatIsNotWhole) {
  JitMap map;
  const std::string text = "1000 20 LazyCompile:*f a b.js:1\nnonsense\n0x2000 0x10 g\n3000 1";
  EXPECT_EQ(ReadPerfMap(text, map), text.size() - 6);
  EXPECT_EQ(NameAt(map, 0x101f - 0x1000 + 0x1000), "LazyCompile:*f a b.js:1");
  EXPECT_EQ(NameAt(map, 0x200f), "g");
  EXPECT_EQ(map.size(), 2u);
}

std::string Number(std::uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i));
  return text;
}
std::string Header() {
  return Number(0x4a695444, 4) + Number(1, 4) + Number(40, 4) + std::string(28, '\0');
}
std::string Load(std::uint64_t address, std::uint64_t size, const std::string& name) {
  const std::string body = Number(1, 4) + Number(1, 4) + Number(address, 8) + Number(address, 8) +
                           Number(size, 8) + Number(0, 8) + name + '\0' + std::string(size, 'c');
  return Number(0, 4) + Number(16 + body.size(), 4) + Number(7, 8) + body;
}
std::string Move(std::uint64_t from, std::uint64_t to, std::uint64_t size) {
  const std::string body = Number(1, 4) + Number(1, 4) + Number(to, 8) + Number(from, 8) +
                           Number(to, 8) + Number(size, 8) + Number(0, 8);
  return Number(1, 4) + Number(16 + body.size(), 4) + Number(7, 8) + body;
}

TEST(JitDump, LoadsAndMoves) {
  JitMap map;
  const std::string dump = Header() + Load(0x1000, 0x20, "f") + Move(0x1000, 0x5000, 0x20);
  EXPECT_EQ(ReadJitDump(dump, true, map), dump.size());
  EXPECT_EQ(NameAt(map, 0x101f), "f");
  EXPECT_EQ(NameAt(map, 0x5001), "f");
}

TEST(JitDump, AnyPieceMayEndAnywhere) {
  const std::string dump = Header() + Load(0x1000, 0x20, "f") + Load(0x2000, 0x20, "g");
  for (std::size_t cut = 0; cut <= dump.size(); ++cut) {
    JitMap map;
    const std::size_t done = ReadJitDump(dump.substr(0, cut), true, map);
    ASSERT_LE(done, cut);
    (void)ReadJitDump(dump.substr(done), done == 0, map);
    ASSERT_EQ(NameAt(map, 0x2000), "g") << cut;
  }
}

TEST(JitDump, WhatMakesNoSenseEndsIt) {
  JitMap map;
  EXPECT_EQ(ReadJitDump(std::string(100, 'x'), true, map), 100u);
  const std::string bad = Header() + Number(0, 4) + Number(3, 4) + std::string(40, '\0');
  EXPECT_EQ(ReadJitDump(bad, true, map), bad.size());
  EXPECT_EQ(map.size(), 0u);
}

}  // namespace
}  // namespace profd::symbolize
