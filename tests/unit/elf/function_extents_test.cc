#include "daemon/elf/symbols/function_extents.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/subprocess.h"
#include "tests/unit/elf/elf_builder.h"

namespace profd::elf {
namespace {

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<FunctionExtent> Extents(const std::string& elf, const ElfLimits& limits = {}) {
  const MemoryBytes source(std::as_bytes(std::span(elf)));
  auto file = ElfFile::Open(source, limits);
  if (!file || !file->ReadSections()) return {};
  return ReadFunctionExtents(*file);
}

// "FDE cie=00000000 pc=0000000000003020..0000000000003330", as binutils reads them.
std::vector<FunctionExtent> ListFrames(const std::string& path) {
  const auto outcome = profd::testing::Run({"readelf", "--debug-dump=frames", path});
  std::istringstream lines(outcome.out);
  std::set<std::pair<std::uint64_t, std::uint64_t>> frames;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find(" FDE cie=");
    const std::size_t pc = line.find("pc=");
    if (at == std::string::npos || pc == std::string::npos) continue;
    const std::size_t dots = line.find("..", pc);
    frames.emplace(std::stoull(line.substr(pc + 3, dots - pc - 3), nullptr, 16),
                   std::stoull(line.substr(dots + 2), nullptr, 16));
  }
  std::vector<FunctionExtent> extents;
  for (const auto& [begin, end] : frames)
    if (begin < end) extents.push_back({begin, end});
  return extents;
}

TEST(FunctionExtents, AreThoseOfReadelf) {
  if (profd::testing::Run({"readelf", "--version"}).exit_code != 0)
    GTEST_SKIP() << "needs readelf (binutils) to compare with";
  std::size_t compared = 0;
  for (const std::string path :
       {PROFD_SYMBOLS_FIXTURE_STRIPPED, "/lib/x86_64-linux-gnu/libz.so.1", "/bin/bash",
        "/lib/x86_64-linux-gnu/libcrypto.so.3", "/lib/x86_64-linux-gnu/libstdc++.so.6",
        "/lib/x86_64-linux-gnu/libc.so.6"}) {
    if (!std::filesystem::exists(path)) continue;
    const auto expected = ListFrames(path);
    ASSERT_EQ(Extents(Contents(path)), expected) << path;
    compared += expected.size();
  }
  EXPECT_GT(compared, 5'000u);
}

TEST(FunctionExtents, AreFoundWithoutSections) {
  std::string elf = Contents(PROFD_SYMBOLS_FIXTURE_STRIPPED);
  const auto expected = Extents(elf);
  ASSERT_GT(expected.size(), 3u);
  testing::Patch(elf, testing::kShoffAt, 0, 8);
  testing::Patch(elf, testing::kShnumAt, 0, 2);
  EXPECT_EQ(Extents(elf), expected);
}

TEST(FunctionExtents, FindsTheFunctionOfAnAddress) {
  const std::vector<FunctionExtent> functions{{0x10, 0x20}, {0x20, 0x28}, {0x30, 0x31}};
  EXPECT_EQ(FunctionAt(functions, 0xf), nullptr);
  EXPECT_EQ(FunctionAt(functions, 0x1f), &functions[0]);
  EXPECT_EQ(FunctionAt(functions, 0x20), &functions[1]);
  EXPECT_EQ(FunctionAt(functions, 0x28), nullptr);
  EXPECT_EQ(FunctionAt(functions, 0x31), nullptr);
  EXPECT_EQ(FunctionAt({}, 0), nullptr);
}

TEST(FunctionExtents, AreBounded) {
  ElfLimits limits;
  limits.symbols = 1;
  EXPECT_EQ(Extents(Contents(PROFD_SYMBOLS_FIXTURE_STRIPPED), limits).size(), 2u);
}

TEST(FunctionExtents, DamagedFramesEndTheList) {
  const std::string whole = Contents(PROFD_SYMBOLS_FIXTURE_STRIPPED);
  const MemoryBytes source(std::as_bytes(std::span(whole)));
  auto file = ElfFile::Open(source);
  ASSERT_TRUE(file && file->ReadSections());
  const ElfSection frames = *file->FindSection(".eh_frame");
  // Any byte may be wrong; the order and the bounds hold all the same.
  for (std::uint64_t at = 0; at < frames.bytes; ++at) {
    for (const char byte : {'\0', '\x7f', '\xff'}) {
      std::string elf = whole;
      elf[frames.offset + at] = byte;
      std::uint64_t last = 0;
      for (const FunctionExtent& extent : Extents(elf)) {
        ASSERT_LE(last, extent.begin) << at;
        ASSERT_LT(extent.begin, extent.end) << at;
        last = extent.end;
      }
    }
  }
}

}  // namespace
}  // namespace profd::elf
