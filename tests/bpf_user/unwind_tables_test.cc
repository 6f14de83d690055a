// Look-ups in tables of any content: the right row in sound ones, an end in all others.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <random>

#include "tests/bpf_user/unwind_world.h"

namespace profd {
namespace {

constexpr std::uint64_t kStack = UnwindWorld::kStack;
constexpr std::uint32_t kPageUnits = PROFD_POOL_PAGE_BYTES / PROFD_PLACE_UNIT;

// Every row leads to a return address of its own: rule r's frame is 8 * r bytes.
std::map<std::uint64_t, profd_unwind_rule> Rows(std::uint64_t begin, int count, int gap) {
  std::map<std::uint64_t, profd_unwind_rule> rows;
  for (int i = 1; i <= count; ++i)
    rows[begin + static_cast<std::uint64_t>((i - 1) * gap)] = CfaAt(kRsp, 8 * i);
  return rows;
}

TEST(UnwindTablesTest, FindsEveryRowOfABlock) {
  for (const int count : {1, 2, 3, 7, 8, 9, 63, 64, 65, 100, 126}) {
    UnwindWorld world;
    world.Publish(Rows(0x401000, count, 32));
    for (int i = 1; i <= 200; ++i)
      world.Stack(kStack + 8 * static_cast<std::uint64_t>(i - 1),
                  {UnwindWorld::kJit + static_cast<std::uint64_t>(i)});
    for (int i = 1; i <= count; ++i) {
      const std::uint64_t row = 0x401000 + static_cast<std::uint64_t>(i - 1) * 32;
      for (const std::uint64_t pc : {row, row + 1, row + 31}) {
        world.Walk(pc);
        ASSERT_EQ(world.Frames().size(), 2u) << count << ' ' << i;
        ASSERT_EQ(world.Frames()[1], UnwindWorld::kJit + static_cast<std::uint64_t>(i)) << count;
      }
    }
  }
}

TEST(UnwindTablesTest, BlockThatLiesInTwoPages) {
  // The chunk begins so late in its page that its rows go on in the next.
  for (const std::uint32_t unit : {490u, 497u, 500u, 506u, 507u}) {
    UnwindWorld world;
    world.Publish(Rows(0x401000, 60, 4));
    const auto* from = static_cast<const std::uint8_t*>(user_pool_page(kChunkPage));
    std::vector<std::uint8_t> copy(from, from + 1'000);
    for (std::size_t i = 0; i < copy.size(); ++i) {
      const std::size_t at = unit * 8 + i;
      static_cast<std::uint8_t*>(user_pool_page(10 + static_cast<__u32>(at / 4096)))[at % 4096] =
          copy[i];
    }
    static_cast<profd_chunk_ref*>(user_pool_page(kIndexPage))->place = 10 * kPageUnits + unit;
    for (int i = 1; i <= 60; ++i)
      world.Stack(kStack + 8 * static_cast<std::uint64_t>(i - 1),
                  {UnwindWorld::kJit + static_cast<std::uint64_t>(i)});
    for (int i = 1; i <= 60; ++i) {
      world.Walk(0x401000 + static_cast<std::uint64_t>(i - 1) * 4 + 3);
      ASSERT_EQ(world.Frames().size(), 2u);
      ASSERT_EQ(world.Frames()[1], UnwindWorld::kJit + static_cast<std::uint64_t>(i)) << unit;
    }
  }
}

TEST(UnwindTablesTest, HeaderAcrossPagesIsNone) {
  UnwindWorld world;
  world.Publish({{0x400100, CfaAt(kRsp, 8)}});
  static_cast<profd_chunk_ref*>(user_pool_page(kIndexPage))->place = 10 * kPageUnits + 508;
  user_pool_page(10);
  EXPECT_EQ(world.Walk(0x400100), "400100 | no-frame-pointer");
}

TEST(UnwindTablesTest, RuleThatIsNotThereYetIsNotReady) {
  UnwindWorld world;
  world.Publish({{0x400100, CfaAt(kRsp, 8)}});
  user_unwind_file(2)->rule_count = 1;
  EXPECT_EQ(world.Walk(0x400100), "400100 | not-ready");
}

TEST(UnwindTablesTest, PlacesOutOfRangeEndTheWalk) {
  for (const std::uint32_t place : {~0u, 255u * kPageUnits * 256, 1u << 20, 5000u * kPageUnits}) {
    UnwindWorld world;
    world.Publish({{0x400100, CfaAt(kRsp, 8)}});
    const profd_unwind_file sound = *user_unwind_file(2);
    user_unwind_file(2)->index = place;
    EXPECT_EQ(world.Walk(0x400100), "400100 | not-ready");
    *user_unwind_file(2) = sound;
    user_unwind_file(2)->rules = place;
    EXPECT_EQ(world.Walk(0x400100), "400100 | not-ready");
    *user_unwind_file(2) = sound;
    static_cast<profd_chunk_ref*>(user_pool_page(kIndexPage))->place = place;
    EXPECT_EQ(world.Walk(0x400100), "400100 | no-frame-pointer");
  }
}

TEST(UnwindTablesTest, AnyContentIsBounded) {
  std::mt19937_64 random(1);  // NOLINT(cert-msc51-cpp): the same worlds each time
  for (int round = 0; round < 2'000; ++round) {
    UnwindWorld world;
    world.Publish(Rows(0x400000, 100, 64));
    for (const std::uint32_t page : {kIndexPage, kRulesPage, kChunkPage, kChunkPage + 1}) {
      auto* words = static_cast<std::uint64_t*>(user_pool_page(page));
      if (random() % 2 == 0) continue;
      for (std::uint32_t i = 0; i < kPageUnits; ++i)
        words[i] = page == kRulesPage ? random() & 0xffffffffff0f0703 : random();
    }
    if (round % 4 != 0)
      static_cast<profd_chunk_ref*>(user_pool_page(kIndexPage))->place = kChunkPage * kPageUnits;
    for (std::uint64_t i = 0; i < 100; ++i)
      world.Stack(kStack + 8 * i, {random() % 3 == 0 ? random() : 0x400000 + random() % 0x10000});
    for (std::uint8_t i = 0; i < 16; ++i)
      if (i != kRsp) world.Set(i, kStack + random() % 0x200);
    world.SetKernelFrames(static_cast<std::uint16_t>(random() % (PROFD_MAX_KERNEL_FRAMES + 1)));
    world.Walk(0x400000 + random() % 0x10000);
    ASSERT_GE(world.event()->user_frames, 1);
    ASSERT_LE(world.event()->user_frames, PROFD_MAX_USER_FRAMES);
    ASSERT_TRUE(world.GuardIsWhole());
  }
}

}  // namespace
}  // namespace profd
