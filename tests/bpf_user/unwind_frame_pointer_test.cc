// Code that no rule is known for is left by its frame pointer, and said so.
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/bpf_user/unwind_world.h"

namespace profd {
namespace {

constexpr std::uint64_t kStack = UnwindWorld::kStack;

TEST(UnwindFramePointerTest, ThroughCodeMadeAtRunTimeAndBackToRules) {
  UnwindWorld world;
  world.Publish(
      {{0x400100, CfaAt(kRsp, 8)}, {0x400200, CfaAt(kRbp, 16)}, {0x400300, OfKind(PROFD_CFA_END)}});
  world.Set(kRbp, kStack + 0x20);
  world.Stack(kStack, {0x700100});
  world.Stack(kStack + 0x20, {kStack + 0x40, 0x700200});
  world.Stack(kStack + 0x40, {kStack + 0x60, 0x400201});
  world.Stack(kStack + 0x60, {0, 0x400301});
  EXPECT_EQ(world.Walk(0x400100), "400100 700100 700200? 400201? 400301? | complete uncertain");
  EXPECT_EQ(world.event()->uncertain_from, 2);
  EXPECT_EQ(user_counter(PROFD_COUNTER_USER_STACK_UNCERTAIN), 1u);
}

TEST(UnwindFramePointerTest, OtherRegistersAreLostInIt) {
  UnwindWorld world;
  world.Publish({{0x400100, CfaAt(kRbx, 16)}});
  world.Set(kRbx, kStack + 0x40);
  world.Set(kRbp, kStack);
  world.Stack(kStack, {kStack + 0x40, 0x400101});
  EXPECT_EQ(world.Walk(0x700100), "700100 400101? | uncertain register-lost");
}

TEST(UnwindFramePointerTest, FileWithoutTablesRangeWithoutRulesRowWithoutRule) {
  for (const int which : {0, 1, 2, 3}) {
    UnwindWorld world;
    world.Publish({{0x400100, profd_unwind_rule{}}, {0x400200, OfKind(PROFD_CFA_END)}});
    if (which == 1) user_unwind_file(2)->flags |= PROFD_FILE_NO_TABLES;
    auto* index = static_cast<profd_chunk_ref*>(user_pool_page(kIndexPage));
    if (which == 2) index[0].place = PROFD_CHUNK_EMPTY;
    if (which == 3) user_unwind_file(2)->chunks = 0;
    world.Set(kRbp, kStack);
    world.Stack(kStack, {0, 0});
    EXPECT_EQ(world.Walk(0x400100), "400100 | complete uncertain") << which;
    EXPECT_EQ(user_wanted(nullptr), 0u) << which;
  }
}

TEST(UnwindFramePointerTest, NumberThatIsNoFramePointerIsNotFollowed) {
  for (const std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{0xdeadbeef}, kStack + 3, kStack - 8}) {
    UnwindWorld world;
    world.Set(kRbp, number);
    EXPECT_EQ(world.Walk(0x700100), "700100 | no-frame-pointer");
  }
}

TEST(UnwindFramePointerTest, WhatLiesInNoCodeIsNoFrame) {
  UnwindWorld world;
  world.Publish({{0x400100, CfaAt(kRsp, 16)}});
  world.Set(kRbp, kStack + 0x20);
  world.Stack(kStack + 0x20, {kStack + 0x40, 0x12345678});
  EXPECT_EQ(world.Walk(0x700100), "700100 | no-frame-pointer") << "at once";
  EXPECT_EQ(world.event()->uncertain_from, PROFD_ALL_CERTAIN);
  world.Stack(kStack + 0x20, {kStack + 0x40, 0x700200});
  world.Stack(kStack + 0x40, {kStack + 0x60, 0x12345678});
  EXPECT_EQ(world.Walk(0x700100), "700100 700200? | uncertain no-frame-pointer") << "later";
  world.Stack(kStack + 0x20, {kStack + 0x40, 0x400101});
  world.Stack(kStack + 0x30, {0, 0x12345678});
  EXPECT_EQ(world.Walk(0x700100), "700100 400101? | uncertain no-frame-pointer")
      << "by a rule, from what a frame pointer has led to";
}

TEST(UnwindFramePointerTest, CircleEndsTheWalk) {
  UnwindWorld world;
  world.Set(kRbp, kStack + 0x20);
  world.Stack(kStack + 0x20, {kStack + 0x20, 0x700200});
  EXPECT_EQ(world.Walk(0x700100), "700100 700200? | uncertain no-frame-pointer");
}

TEST(UnwindFramePointerTest, WhereNoTablesAreMade) {
  UnwindWorld world;
  user_control()->tick = 0;
  world.Set(kRbp, kStack);
  world.Stack(kStack, {kStack + 0x10, 0x400101, 0, 0});
  EXPECT_EQ(world.Walk(0x400100), "400100 400101? | complete uncertain");
  EXPECT_EQ(user_wanted(nullptr), 0u);
}

}  // namespace
}  // namespace profd
