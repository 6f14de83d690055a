#include "daemon/unwind/tables/table_store.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "daemon/unwind/tables/chunk_builder.h"
#include "tests/unit/unwind/system_files.h"
#include "tests/unit/unwind/table_lookup.h"
#include "tests/unit/unwind/vector_maps.h"

namespace profd::unwind {
namespace {

using source::PoolMemory;

profd_file_key Key(std::uint64_t inode) {
  profd_file_key key{};
  key.inode = inode;
  return key;
}

// A rule that shows for which file and offset it was made.
profd_unwind_rule RuleFor(std::uint64_t inode, std::uint64_t row) {
  profd_unwind_rule rule{};
  rule.cfa = PROFD_CFA_REGISTER;
  rule.offset = static_cast<__s32>(inode);
  rule.add = static_cast<__s32>(row % 500);
  rule.return_address = -1;
  return rule;
}

constexpr std::uint64_t kRowBytes = 16;

std::vector<Row> RowsOf(std::uint64_t inode, std::uint64_t begin) {
  std::vector<Row> rows;
  for (std::uint64_t at = begin; at < begin + kChunkBytes; at += kRowBytes)
    rows.push_back({at, RuleFor(inode, at / kRowBytes)});
  return rows;
}

class Store : public testing::Test {
 protected:
  static constexpr std::uint64_t kCap = (1u << 20) + 3 * PoolMemory::kSlabCost;

  // Loads what is missing, as the service does.
  void Load(std::uint64_t inode, std::uint64_t offset) {
    auto file = store_.Find(Key(inode));
    if (!file) {
      auto added =
          store_.AddFile(Key(inode), {{0, 64 * kChunkBytes, 0}}, 0, TableStore::Room::kMake);
      ASSERT_TRUE(added) << added.error().message;
      file = *added;
    }
    if (!store_.Lacks(*file, offset)) return;
    const std::uint64_t begin = offset / kChunkBytes * kChunkBytes;
    const auto loaded =
        store_.LoadChunk(*file, begin, RowsOf(inode, begin), TableStore::Room::kMake);
    ASSERT_TRUE(loaded) << loaded.error().message;
  }
  LookupAnswer Ask(std::uint64_t inode, std::uint64_t offset, std::uint32_t tick = 1) {
    profd_unwind_file* file = maps_.Find(Key(inode));
    return file == nullptr ? LookupAnswer{} : Lookup(memory_.base(), *file, offset, tick);
  }

  VectorPoolMemory memory_;
  VectorFileMaps maps_;
  TableStore store_{memory_, maps_, kCap};
};

TEST_F(Store, WhatIsLoadedIsFound) {
  EXPECT_EQ(Ask(1, 100).status, LookupStatus::kNotLoaded);
  Load(1, 100);
  Load(1, 5 * kChunkBytes);
  for (std::uint64_t at = 0; at < kChunkBytes; ++at) {
    const LookupAnswer answer = Ask(1, at);
    ASSERT_EQ(answer.status, LookupStatus::kFound);
    const auto expected = RuleFor(1, at / kRowBytes);
    ASSERT_EQ(std::memcmp(&answer.rule, &expected, sizeof expected), 0);
  }
  EXPECT_EQ(Ask(1, 5 * kChunkBytes + 17).rule.add, RuleFor(1, 5 * kChunkBytes / kRowBytes + 1).add);
  EXPECT_EQ(Ask(1, kChunkBytes).status, LookupStatus::kNotLoaded);
  EXPECT_EQ(Ask(1, 64 * kChunkBytes).status, LookupStatus::kWithoutRule);
  EXPECT_EQ(Ask(2, 100).status, LookupStatus::kNotLoaded);
}

TEST_F(Store, FilesWithoutTablesSaySo) {
  ASSERT_TRUE(store_.AddWithoutTables(Key(3)));
  EXPECT_EQ(Ask(3, 100).status, LookupStatus::kNoTables);
  EXPECT_FALSE(store_.Lacks(*store_.Find(Key(3)), 100));
}

TEST_F(Store, OneFileMayHaveSeveralKeys) {
  Load(1, 0);
  ASSERT_TRUE(store_.AddKey(*store_.Find(Key(1)), Key(77)));
  EXPECT_EQ(Ask(77, 0).status, LookupStatus::kFound);
  EXPECT_EQ(store_.counters().files.value(), 1u);
}

TEST_F(Store, EmptyRangesTakeNoRoom) {
  Load(1, 0);
  const auto bytes = store_.counters().bytes.value();
  const std::vector<Row> nothing{{kChunkBytes, profd_unwind_rule{}}};
  ASSERT_TRUE(
      store_.LoadChunk(*store_.Find(Key(1)), kChunkBytes, nothing, TableStore::Room::kMake));
  EXPECT_EQ(Ask(1, kChunkBytes).status, LookupStatus::kWithoutRule);
  EXPECT_EQ(store_.counters().bytes.value(), bytes);
}

TEST_F(Store, WhatIsUsedStaysAndWhatIsNotGoes) {
  Load(1, 0);
  for (std::uint64_t inode = 2; inode < 40; ++inode) {
    store_.SetTick(static_cast<std::uint32_t>(inode));
    ASSERT_EQ(Ask(1, 0, static_cast<std::uint32_t>(inode)).status, LookupStatus::kFound) << inode;
    for (std::uint64_t i = 0; i < 10; ++i) Load(inode, i * kChunkBytes);
    ASSERT_EQ(Ask(1, 0, static_cast<std::uint32_t>(inode)).status, LookupStatus::kFound) << inode;
  }
  EXPECT_GT(store_.counters().evictions.value(), 0u);
  EXPECT_EQ(Ask(2, 0).status, LookupStatus::kNotLoaded);
  EXPECT_EQ(Ask(39, 0).status, LookupStatus::kFound);
  EXPECT_LE(store_.counters().memory.value(), kCap);
  EXPECT_LE(memory_.slabs, 3u);
}

TEST_F(Store, PrefetchTakesNothingFromOthers) {
  std::uint64_t refused = 0;
  for (std::uint64_t inode = 1; inode < 8; ++inode) {
    auto file = store_.AddFile(Key(inode), {{0, 64 * kChunkBytes, 0}}, 0, TableStore::Room::kFree);
    if (!file) {
      ++refused;
      continue;
    }
    for (std::uint64_t i = 0; i < 64; ++i) {
      if (!store_.LoadChunk(*file, i * kChunkBytes, RowsOf(inode, i * kChunkBytes),
                            TableStore::Room::kFree))
        ++refused;
    }
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(store_.counters().evictions.value(), 0u);
  EXPECT_EQ(Ask(1, 0).status, LookupStatus::kFound);
}

TEST_F(Store, NothingMoreIsGivenUpWhileNoWaitSucceeds) {
  std::uint64_t inode = 1;
  const auto fill = [&](TableStore::Room room) {
    const auto file = store_.AddFile(Key(inode++), {{0, kChunkBytes, 0}}, 0, room);
    return file && store_.LoadChunk(*file, 0, RowsOf(inode, 0), room);
  };
  while (fill(TableStore::Room::kFree)) continue;
  memory_.broken = true;
  EXPECT_FALSE(fill(TableStore::Room::kMake));
  const auto left = store_.counters().chunks.value();
  EXPECT_GT(left, 0u);
  EXPECT_FALSE(fill(TableStore::Room::kMake));
  EXPECT_EQ(store_.counters().chunks.value(), left);
  memory_.broken = false;
  EXPECT_TRUE(fill(TableStore::Room::kMake));
}

TEST_F(Store, FilesGoneKeepTheirPlacesWhileNoWaitSucceeds) {
  for (std::uint64_t inode = 1; inode <= PROFD_MAX_UNWIND_FILES; ++inode)
    ASSERT_TRUE(store_.AddWithoutTables(Key(inode)));
  memory_.broken = true;
  EXPECT_FALSE(store_.AddWithoutTables(Key(PROFD_MAX_UNWIND_FILES + 1)));
  EXPECT_EQ(maps_.ids(), std::size_t{PROFD_MAX_UNWIND_FILES} - 1);
  memory_.broken = false;
  EXPECT_TRUE(store_.AddWithoutTables(Key(PROFD_MAX_UNWIND_FILES + 1)));
}

TEST_F(Store, MoreFilesThanTheListHolds) {
  for (std::uint64_t inode = 1; inode <= PROFD_MAX_UNWIND_FILES + 100; ++inode) {
    store_.SetTick(static_cast<std::uint32_t>(inode));
    ASSERT_TRUE(store_.AddWithoutTables(Key(inode)));
  }
  EXPECT_EQ(store_.counters().files.value(), std::uint64_t{PROFD_MAX_UNWIND_FILES});
  EXPECT_EQ(maps_.ids(), std::size_t{PROFD_MAX_UNWIND_FILES});
  EXPECT_EQ(Ask(1, 0).status, LookupStatus::kNotLoaded);
  EXPECT_EQ(Ask(PROFD_MAX_UNWIND_FILES + 100, 0).status, LookupStatus::kNoTables);
}

// A reader that looks up without rest never sees a rule of another file or another place.
TEST_F(Store, ReadersSeeWholeRangesOnly) {
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> found = 0;
  std::atomic<std::uint64_t> wrong = 0;
  constexpr std::uint64_t kFiles = 12;
  std::jthread reader([&] {
    std::mt19937_64 random(3);
    while (!stop) {
      const std::uint64_t inode = 1 + random() % kFiles;
      const std::uint64_t offset = random() % (40 * kChunkBytes);
      const std::shared_lock running(memory_.readers);
      profd_unwind_file* file = maps_.Find(Key(inode));
      if (file == nullptr) continue;
      const LookupAnswer answer = Lookup(memory_.base(), *file, offset, maps_.tick);
      if (answer.status != LookupStatus::kFound) continue;
      ++found;
      const auto expected = RuleFor(inode, offset / kRowBytes);
      if (std::memcmp(&answer.rule, &expected, sizeof expected) != 0) ++wrong;
    }
  });
  std::mt19937_64 random(5);
  std::uint32_t tick = 1;
  while (found < 100'000 || store_.counters().evictions.value() < 1'000) {
    store_.SetTick(++tick);
    Load(1 + random() % kFiles, random() % (40 * kChunkBytes));
    if (HasFatalFailure()) break;
  }
  stop = true;
  reader.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(memory_.waits, 0u);
}

// Everything of a real file, through packed bytes: the same rules as the rows say.
TEST(StoreOfRealFile, PackedTablesAnswerLikeTheRows) {
  auto opened = OpenSystemFile("/usr/lib/x86_64-linux-gnu/libc.so.6");
  if (!opened.fd.valid()) GTEST_SKIP() << "no libc here";
  auto reader = CfiReader::Open(std::move(opened.fd), opened.bytes);
  ASSERT_TRUE(reader);
  VectorPoolMemory memory;
  VectorFileMaps maps;
  TableStore store(memory, maps, 64u << 20);
  const auto file =
      store.AddFile(Key(1), reader->text(), PROFD_FILE_KEEP_CFA, TableStore::Room::kMake);
  ASSERT_TRUE(file);
  std::size_t checked = 0;
  for (const std::uint64_t begin : store.MissingChunks(*file)) {
    const auto rows = reader->ReadRows(begin, begin + kChunkBytes).rows;
    ASSERT_TRUE(store.LoadChunk(*file, begin, rows, TableStore::Room::kMake));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::uint64_t end = i + 1 < rows.size() ? rows[i + 1].offset : begin + kChunkBytes;
      for (const std::uint64_t offset : {rows[i].offset, end - 1}) {
        const auto answer = Lookup(memory.base(), *maps.Find(Key(1)), offset, 1);
        ASSERT_EQ(std::memcmp(&answer.rule, &rows[i].rule, sizeof answer.rule), 0) << offset;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 10'000u);
  EXPECT_TRUE(store.MissingChunks(*file).empty());
}

TEST(PackChunk, BlocksWithTooManyRowsForgetTheirLast) {
  std::vector<Row> rows;
  for (std::uint64_t at = 0; at < 4096; ++at) rows.push_back({at, RuleFor(1, at % 2 + 1)});
  RuleTable rules({});
  const PackedChunk packed = PackChunk(rows, 0, rules);
  EXPECT_EQ(packed.cut_blocks, 1u);
  EXPECT_EQ(packed.rows, PROFD_BLOCK_MAX_ROWS + 15u);
}

}  // namespace
}  // namespace profd::unwind
