#include "daemon/unwind/cfi/cfi_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <random>
#include <string_view>
#include <utility>

#include "daemon/unwind/tables/chunk_builder.h"
#include "daemon/unwind/tables/rule_table.h"
#include "tests/unit/unwind/libdw_oracle.h"
#include "tests/unit/unwind/system_files.h"

namespace profd::unwind {
namespace {

// What lies between `syscall` and here is short: clone, after which a thread goes two ways.
bool FollowsASyscall(const OpenFile& file, std::uint64_t offset) {
  std::array<char, 34> code{};
  if (::pread(file.fd.get(), code.data(), code.size(), static_cast<off_t>(offset - 32)) < 0)
    return false;
  return std::string_view(code.data(), code.size()).find("\x0f\x05") != std::string_view::npos;
}

class SystemFile : public testing::TestWithParam<std::string> {};

// Random addresses, and the first and last ones of rows, in some chunks of each file.
TEST_P(SystemFile, RowsSayWhatLibdwSays) {
  OpenFile file = OpenSystemFile(GetParam());
  const LibdwOracle oracle(file.fd.get());
  ASSERT_NE(oracle.cfi(), nullptr);
  auto opened = OpenSystemFile(GetParam());
  auto reader = CfiReader::Open(std::move(opened.fd), opened.bytes);
  ASSERT_TRUE(reader) << reader.error().message;
  std::mt19937_64 random(7);
  Tally tally;
  for (const TextRange& range : reader->text()) {
    for (int i = 0; i < 12; ++i) {
      const std::uint64_t any = range.begin + random() % (range.end - range.begin);
      const std::uint64_t begin = any / kChunkBytes * kChunkBytes;
      const auto rows = reader->ReadRows(begin, begin + kChunkBytes).rows;
      ASSERT_EQ(rows.front().offset, begin);
      const std::uint64_t from = std::max(begin, range.begin);
      const std::uint64_t to = std::min(begin + kChunkBytes, range.end);
      const auto compare = [&](std::uint64_t offset) {
        if (offset < from || offset >= to) return;
        Compare(oracle.cfi(), offset - range.begin + range.vaddr, RuleAt(rows, offset), tally);
      };
      for (int j = 0; j < 200 && !HasFatalFailure(); ++j) compare(from + random() % (to - from));
      for (int j = 0; j < 200 && !HasFatalFailure(); ++j) {
        const std::uint64_t edge = rows[random() % rows.size()].offset;
        compare(edge);
        compare(edge - 1);
      }
      if (HasFatalFailure()) return;
    }
    for (const std::uint64_t vaddr : std::exchange(tally.beyond, {}))
      EXPECT_TRUE(FollowsASyscall(file, vaddr - range.vaddr + range.begin)) << std::hex << vaddr;
  }
  EXPECT_EQ(reader->damaged(), 0u);
  EXPECT_GT(tally.known, 0u);
  EXPECT_LE(tally.inexpressible * 1000, tally.requested);
  EXPECT_LE(tally.lost * 1000, tally.requested);
  std::printf("%zu requested, %zu with a rule, %zu inexpressible, %zu registers lost\n",
              tally.requested, tally.known, tally.inexpressible, tally.lost);
}

// Not a limit: for the record.
TEST_P(SystemFile, PrintsSizes) {
  auto file = OpenSystemFile(GetParam());
  const auto begin = std::chrono::steady_clock::now();
  auto reader = CfiReader::Open(std::move(file.fd), file.bytes);
  ASSERT_TRUE(reader) << reader.error().message;
  const auto opened = std::chrono::steady_clock::now();
  RuleTable rules({});
  std::size_t rows = 0;
  std::size_t packed_bytes = 0;
  std::size_t chunks = 0;
  std::chrono::nanoseconds longest{0};
  const std::uint64_t first = reader->text().front().begin / kChunkBytes;
  const std::uint64_t last = (reader->text().back().end - 1) / kChunkBytes;
  for (std::uint64_t i = first; i <= last; ++i) {
    const auto before = std::chrono::steady_clock::now();
    const auto packed = PackChunk(reader->ReadRows(i * kChunkBytes, (i + 1) * kChunkBytes).rows,
                                  i * kChunkBytes, rules);
    longest =
        std::max<std::chrono::nanoseconds>(longest, std::chrono::steady_clock::now() - before);
    rows += packed.rows;
    packed_bytes += packed.bytes.size();
    chunks += packed.bytes.empty() ? 0 : 1;
    EXPECT_EQ(packed.cut_blocks, 0u);
  }
  EXPECT_EQ(rules.refused(), 0u);
  EXPECT_GT(rows, 0u);
  const auto ms = [](auto duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
  };
  std::printf(
      "%s: open %.1f ms, all %.1f ms, longest chunk %.1f ms, %zu rows, %zu rules, %zu "
      "chunks, %zu bytes, whole %d, cpython %d\n",
      GetParam().c_str(), ms(opened - begin), ms(std::chrono::steady_clock::now() - begin),
      ms(longest), rows, rules.rules().size(), chunks, packed_bytes, reader->small(),
      reader->cpython());
}

INSTANTIATE_TEST_SUITE_P(All, SystemFile, testing::ValuesIn(SystemFiles()));

TEST(CfiReader, InterpretersAreKnownByTheirSymbols) {
  auto python = OpenSystemFile("/usr/bin/python3.11");
  if (!python.fd.valid()) GTEST_SKIP() << "no python3.11 here";
  EXPECT_TRUE(CfiReader::Open(std::move(python.fd), python.bytes)->cpython());
  auto bash = OpenSystemFile("/usr/bin/bash");
  EXPECT_FALSE(CfiReader::Open(std::move(bash.fd), bash.bytes)->cpython());
}

TEST(CfiReader, WhatIsNoElfFileIsAnError) {
  const std::vector<std::byte> nothing(100);
  EXPECT_FALSE(CfiReader::FromMemory(nothing));
  auto text = OpenSystemFile("/etc/passwd");
  EXPECT_FALSE(CfiReader::Open(std::move(text.fd), text.bytes));
}

}  // namespace
}  // namespace profd::unwind
