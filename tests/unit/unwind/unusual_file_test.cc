// Files whose `.eh_frame` is found, or said, in other ways than usual.
#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/proc/maps_parser.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/unwind/cfi/cfi_reader.h"
#include "tests/unit/unwind/libdw_oracle.h"
#include "tests/unit/unwind/system_files.h"

namespace profd::unwind {
namespace {

const char* const kProgram = "/usr/bin/bash";

std::vector<Row> AllRows(CfiReader& reader) {
  return reader.ReadRows(reader.text().front().begin, reader.text().back().end).rows;
}

std::optional<Elf64_Phdr> SegmentOf(const std::vector<std::byte>& bytes, std::uint32_t type) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == type) return segment;
  }
  return std::nullopt;
}

void ExpectSame(const std::vector<Row>& rows, const std::vector<Row>& expected) {
  ASSERT_EQ(rows.size(), expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i].offset, expected[i].offset);
    ASSERT_EQ(std::memcmp(&rows[i].rule, &expected[i].rule, sizeof rows[i].rule), 0)
        << std::hex << rows[i].offset;
  }
}

// As `ld --no-eh-frame-hdr` leaves it.
TEST(UnusualFile, FramesWithoutTheirIndexGiveTheSameRows) {
  auto bytes = ContentsOf(kProgram);
  if (bytes.empty()) GTEST_SKIP() << "no bash here";
  auto usual = CfiReader::FromMemory(bytes);
  ASSERT_TRUE(usual) << usual.error().message;
  RemoveSegments(bytes, PT_GNU_EH_FRAME);
  auto reader = CfiReader::FromMemory(bytes);
  ASSERT_TRUE(reader) << reader.error().message;
  const auto rows = AllRows(*reader);
  EXPECT_GT(rows.size(), 10'000u);
  ExpectSame(rows, AllRows(*usual));
  EXPECT_EQ(reader->damaged(), 0u);
}

// As other linkers may write it, or what damage does to it.
TEST(UnusualFile, FramesWithAnUselessIndexGiveTheSameRows) {
  const auto bytes = ContentsOf(kProgram);
  if (bytes.empty()) GTEST_SKIP() << "no bash here";
  auto usual = CfiReader::FromMemory(bytes);
  ASSERT_TRUE(usual) << usual.error().message;
  const auto expected = AllRows(*usual);
  const auto index = SegmentOf(bytes, PT_GNU_EH_FRAME);
  ASSERT_TRUE(index);
  const auto expect_same = [&](const char* what, const auto& change) {
    SCOPED_TRACE(what);
    auto changed = bytes;
    change(changed.data() + index->p_offset);
    auto reader = CfiReader::FromMemory(changed);
    ASSERT_TRUE(reader) << reader.error().message;
    ExpectSame(AllRows(*reader), expected);
    EXPECT_EQ(reader->damaged(), 0u);
  };
  // Where the table begins: version, three encodings, where .eh_frame is, and a count; then pairs.
  constexpr std::size_t kTable = 12;
  constexpr std::size_t kEntry = 8;
  expect_same("another version", [](std::byte* header) { header[0] = std::byte{2}; });
  expect_same("another way to say where .eh_frame is",
              [](std::byte* header) { header[1] = std::byte{0x1c}; });
  expect_same("table left out", [](std::byte* header) { header[3] = std::byte{0xff}; });
  expect_same("absolute addresses", [](std::byte* header) { header[3] = std::byte{0x03}; });
  expect_same("not sorted", [](std::byte* header) {
    std::swap_ranges(header + kTable, header + kTable + kEntry, header + kTable + 5 * kEntry);
  });
  expect_same("more entries than there are bytes", [](std::byte* header) {
    std::memset(header + kTable - sizeof(std::uint32_t), 0x7f, sizeof(std::uint32_t));
  });
  expect_same(".eh_frame outside of the file",
              [](std::byte* header) { std::memset(header + 4, 0x7f, sizeof(std::int32_t)); });
}

// The report is about the index, not about what was tried instead.
TEST(UnusualFile, AnUselessIndexWithoutSectionsIsAnError) {
  auto bytes = ContentsOf(kProgram);
  if (bytes.empty()) GTEST_SKIP() << "no bash here";
  const auto index = SegmentOf(bytes, PT_GNU_EH_FRAME);
  ASSERT_TRUE(index);
  bytes[index->p_offset] = std::byte{2};
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.e_shnum = 0;
  std::memcpy(bytes.data(), &header, sizeof header);
  const auto reader = CfiReader::FromMemory(bytes);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().message, ".eh_frame_hdr: without a table, or of unknown encoding");
}

TEST(UnusualFile, DamagedSectionsOfSuchAFileLeaveItsCode) {
  auto bytes = ContentsOf(kProgram);
  if (bytes.empty()) GTEST_SKIP() << "no bash here";
  RemoveSegments(bytes, PT_GNU_EH_FRAME);
  Elf64_Ehdr intact;
  std::memcpy(&intact, bytes.data(), sizeof intact);
  // No `.eh_frame` is found: what rules there are come from code.
  const auto lost_with = [&](const std::function<void(Elf64_Ehdr&)>& damage) {
    Elf64_Ehdr header = intact;
    damage(header);
    std::memcpy(bytes.data(), &header, sizeof header);
    auto reader = CfiReader::FromMemory(bytes);
    return !reader || std::ranges::all_of(AllRows(*reader), [](const Row& row) {
      return row.rule.cfa == PROFD_CFA_NONE || (row.rule.flags & PROFD_RULE_FROM_CODE) != 0;
    });
  };
  EXPECT_FALSE(lost_with([](Elf64_Ehdr&) {}));
  EXPECT_TRUE(lost_with([](Elf64_Ehdr& header) { header.e_shnum = 0; }));
  EXPECT_TRUE(lost_with([](Elf64_Ehdr& header) { header.e_shnum = 0xfeff; }));
  EXPECT_TRUE(lost_with([](Elf64_Ehdr& header) { header.e_shstrndx = 0xffff; }));
  EXPECT_TRUE(lost_with([](Elf64_Ehdr& header) { header.e_shstrndx = 1; }));
  EXPECT_TRUE(lost_with([](Elf64_Ehdr& header) { header.e_shentsize = 1; }));
  EXPECT_TRUE(lost_with([](Elf64_Ehdr& header) { header.e_shoff = 0; }));
  EXPECT_TRUE(lost_with([](Elf64_Ehdr& header) { header.e_shoff -= 8; }));
  EXPECT_TRUE(lost_with([](Elf64_Ehdr& header) { header.e_shoff = ~std::uint64_t{7}; }));
}

TEST(UnusualFile, AnInterpreterThatExportsNothingIsKnownByItsMessages) {
  auto python = ContentsOf("/usr/bin/python3.11");
  if (python.empty()) GTEST_SKIP() << "no python3.11 here";
  RemoveSegments(python, PT_DYNAMIC);  // what a static program does not have
  EXPECT_TRUE(CfiReader::FromMemory(python)->cpython());
  auto bash = ContentsOf(kProgram);
  RemoveSegments(bash, PT_DYNAMIC);
  EXPECT_FALSE(CfiReader::FromMemory(bash)->cpython());
}

// Each byte of its code.
TEST(UnusualFile, RowsOfTheVdsoSayWhatLibdwSays) {
  std::optional<MapsLine> vdso;
  const auto maps = ProcFs().Read("self/maps");
  ASSERT_TRUE(maps);
  ParseMaps(*maps, [&](MapsLine&& line) {
    if (line.path == "[vdso]") vdso = line;
  });
  ASSERT_TRUE(vdso);
  const auto* first = reinterpret_cast<const std::byte*>(vdso->start);
  const std::vector<std::byte> bytes(first, first + (vdso->end - vdso->start));
  const LibdwOracle oracle(bytes);
  ASSERT_NE(oracle.cfi(), nullptr);
  auto reader = CfiReader::FromMemory(bytes);
  ASSERT_TRUE(reader) << reader.error().message;
  const auto rows = AllRows(*reader);
  Tally tally;
  for (const TextRange& range : reader->text())
    for (std::uint64_t at = range.begin; at < range.end && !HasFatalFailure(); ++at)
      Compare(oracle.cfi(), at - range.begin + range.vaddr, RuleAt(rows, at), tally);
  EXPECT_GT(tally.known, 500u);
  EXPECT_EQ(tally.inexpressible, 0u);
  EXPECT_EQ(tally.lost, 0u);
  EXPECT_TRUE(tally.beyond.empty());
  EXPECT_EQ(reader->damaged(), 0u);
}

}  // namespace
}  // namespace profd::unwind
