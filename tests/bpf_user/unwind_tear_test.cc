// The unwinder's look-ups while tables come and go under them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "daemon/unwind/tables/chunk_builder.h"
#include "daemon/unwind/tables/table_store.h"
#include "tests/bpf_user/unwind_world.h"
#include "tests/unit/unwind/vector_maps.h"

namespace profd {
namespace {

using unwind::Row;
using unwind::TableStore;

constexpr std::uint64_t kOffset = 0x3000;  // in the file, of UnwindWorld::kText
constexpr std::uint64_t kRowBytes = 16;
constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << PROFD_CHUNK_SHIFT;
constexpr std::uint64_t kMapped = 3;   // chunks of the file that is mapped ...
constexpr std::uint64_t kChunks = 40;  // ... and of each of the others
constexpr std::uint64_t kRules = 500;  // of a file
constexpr std::uint64_t kWalksPerLoad = 10;
constexpr std::uint64_t kFiles = 12;  // the first is mapped

// Bytes of the frame: no two rules of a file, and no two files, have the same.
std::uint64_t FrameBytes(std::uint64_t file, std::uint64_t offset) {
  return 8 * (1 + file * kRules + offset / kRowBytes % kRules);
}

std::vector<Row> RowsOf(std::uint64_t file, std::uint64_t begin) {
  std::vector<Row> rows;
  for (std::uint64_t at = begin; at < begin + kChunkBytes; at += kRowBytes)
    rows.push_back({at, CfaAt(kRsp, static_cast<std::int32_t>(FrameBytes(file, at)))});
  return rows;
}

// Room for one slab, so that chunks are discarded for others all the time.
class UnwindTearTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kCap = (1u << 20) + 3 * source::PoolMemory::kSlabCost;

  UnwindTearTest() {
    for (std::uint64_t at = 0; at < UnwindWorld::kStackBytes; at += 8)
      world_.Stack(UnwindWorld::kStack + at, {UnwindWorld::kJit});
    const user_tables tables{
        .pool = memory_.base(),
        .files = maps_.files().data(),
        .find =
            [](void* self, const profd_file_key* key) {
              return static_cast<UnwindTearTest*>(self)->IndexOf(*key);
            },
        .page = [](void* self) { static_cast<UnwindTearTest*>(self)->Linger(); },
        .context = this};
    user_set_tables(&tables);
  }

  const __u32* IndexOf(const profd_file_key& key) {
    const profd_unwind_file* found = maps_.Find(key);
    if (found == nullptr) return nullptr;
    index_ = static_cast<__u32>(found - maps_.files().data());
    return &index_;
  }

  // In the middle of a look-up there is time for the other side to do much.
  void Linger() {
    if (random_() % 2048 != 0) return;
    lingers_ = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    lingers_ = false;
  }

  [[nodiscard]] profd_file_key Key(std::uint64_t file) const {
    profd_file_key key = world_.key();
    key.inode += file;
    return key;
  }

  void Load(std::uint64_t file, std::uint64_t begin) {
    auto index = store_.Find(Key(file));
    if (!index) {
      auto added = store_.AddFile(Key(file), {{0, kChunks * kChunkBytes, 0}}, PROFD_FILE_KEEP_CFA,
                                  TableStore::Room::kMake);
      ASSERT_TRUE(added) << added.error().message;
      index = *added;
    }
    if (!store_.Lacks(*index, begin)) return;
    const auto loaded =
        store_.LoadChunk(*index, begin, RowsOf(file, begin), TableStore::Room::kMake);
    ASSERT_TRUE(loaded) << loaded.error().message;
  }

  UnwindWorld world_;
  unwind::VectorPoolMemory memory_;
  unwind::VectorFileMaps maps_;
  TableStore store_{memory_, maps_, kCap};
  std::atomic<bool> lingers_ = false;
  // The reader's.
  __u32 index_ = 0;
  std::mt19937_64 random_{3};
};

TEST_F(UnwindTearTest, AFrameIsOfItsOwnRuleOrHasNone) {
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> walks = 0;
  std::atomic<std::uint64_t> found = 0;
  std::atomic<std::uint64_t> missed = 0;
  std::atomic<std::uint64_t> wrong = 0;
  std::jthread reader([&] {
    while (!stop) {
      const std::uint64_t at = random_() % UnwindWorld::kTextBytes;
      const std::shared_lock running(memory_.readers);
      user_control()->tick = 1;  // as if it had last been used long ago: discarded first
      world_.Walk(UnwindWorld::kText + at);
      ++walks;
      if (world_.event()->cfas == 0) {
        if ((world_.event()->stack_flags & PROFD_STACK_TABLES_NOT_READY) == 0) ++wrong;
        ++missed;
        continue;
      }
      ++found;
      const std::uint64_t cfa = world_.event()->frames[world_.event()->user_frames];
      if (cfa != UnwindWorld::kStack + FrameBytes(0, kOffset + at)) ++wrong;
    }
  });
  std::mt19937_64 random(5);
  std::uint32_t tick = 1;
  while (found < 20'000 || missed < 1'000 || store_.counters().evictions.value() < 1'000) {
    store_.SetTick(++tick);
    if (random() % 2 == 0)
      Load(0, random() % kMapped * kChunkBytes);
    else
      Load(1 + random() % (kFiles - 1), random() % kChunks * kChunkBytes);
    if (HasFatalFailure()) break;
    // So many walks a load, however the two threads are scheduled.
    for (const std::uint64_t until = walks + kWalksPerLoad; walks < until && !lingers_;)
      std::this_thread::yield();
  }
  stop = true;
  reader.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(memory_.waits, 0u);
}

}  // namespace
}  // namespace profd
