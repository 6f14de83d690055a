// How walks end that do not reach their root: each says why, and what it did not see.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/bpf_user/unwind_world.h"

namespace profd {
namespace {

constexpr std::uint64_t kStack = UnwindWorld::kStack;
constexpr std::uint64_t kStackEnd = kStack + UnwindWorld::kStackBytes - 0x100;  // start_stack

TEST(UnwindEndsTest, UnknownFileIsRequestedOnceAtATime) {
  UnwindWorld world;
  user_set_time(1'000'000'000);
  EXPECT_EQ(world.Walk(0x400100), "400100 | not-ready");
  EXPECT_EQ(world.Walk(0x400108), "400108 | not-ready");
  const profd_wanted* wanted = nullptr;
  ASSERT_EQ(user_wanted(&wanted), 1u);
  EXPECT_EQ(wanted->key.inode, world.key().inode);
  EXPECT_EQ(wanted->key.size, world.key().size);
  EXPECT_EQ(wanted->key.mtime_ns, world.key().mtime_ns);
  EXPECT_EQ(wanted->key.device, world.key().device);
  EXPECT_EQ(wanted->key.generation, world.key().generation);
  EXPECT_EQ(wanted->mapping_begin, UnwindWorld::kText);
  EXPECT_EQ(wanted->mapping_end, UnwindWorld::kText + UnwindWorld::kTextBytes);
  EXPECT_EQ(wanted->file_offset, 0x3100u);
  EXPECT_EQ(wanted->pid, 1234u);
  world.Walk(0x410100);  // another chunk
  EXPECT_EQ(user_wanted(nullptr), 2u);
  user_set_time(1'020'000'000);
  world.Walk(0x400100);
  EXPECT_EQ(user_wanted(nullptr), 3u);
  EXPECT_EQ(user_counter(PROFD_COUNTER_USER_STACK_NOT_READY), 4u);
  EXPECT_EQ(user_counter(PROFD_COUNTER_TABLES_WANTED), 3u);
}

TEST(UnwindEndsTest, ChunkThatIsNotLoadedIsRequested) {
  UnwindWorld world;
  world.Publish({{0x400100, CfaAt(kRsp, 8)}});
  user_set_time(1'000'000'000);
  world.Stack(kStack, {0x410101});
  EXPECT_EQ(world.Walk(0x400100), "400100 410101 | not-ready");
  const profd_wanted* wanted = nullptr;
  ASSERT_EQ(user_wanted(&wanted), 1u);
  EXPECT_EQ(wanted->file_offset, 0x13100u);
  EXPECT_EQ(world.event()->missing_stack_bytes, kStackEnd - kStack - 8);
}

TEST(UnwindEndsTest, ChunksOfCallersFurtherUpAreRequestedAtOnce) {
  for (const bool task_reader : {false, true}) {
    UnwindWorld world;
    world.Publish({{0x400100, CfaAt(kRsp, 8)}});
    user_set_time(1'000'000'000);
    world.Stack(kStack, {0x410101, 0x411000, 7, UnwindWorld::kJit + 1, 0x40d001});
    EXPECT_EQ(world.Walk(0x400100, task_reader), "400100 410101 | not-ready");
    const profd_wanted* wanted = nullptr;
    ASSERT_EQ(user_wanted(&wanted), 1u);  // the next two words lie in the same chunk, or in none
    EXPECT_EQ(wanted->file_offset, 0x13100u);
    user_set_time(2'000'000'000);
    world.Stack(kStack, {0x410101, 7, 0x41e001});
    EXPECT_EQ(world.Walk(0x400100, task_reader), "400100 410101 | not-ready");
    ASSERT_EQ(user_wanted(&wanted), 3u);
    EXPECT_EQ(wanted[2].file_offset, 0x21000u);
  }
}

TEST(UnwindEndsTest, UseIsNoted) {
  UnwindWorld world;
  world.Publish({{0x400100, CfaAt(kRsp, 8)}});
  world.Stack(kStack, {0});
  user_control()->tick = 99;
  EXPECT_EQ(world.Walk(0x400100), "400100 | complete");
  EXPECT_EQ(user_unwind_file(2)->last_used, 99u);
  EXPECT_EQ(static_cast<profd_chunk_ref*>(user_pool_page(kIndexPage))->last_used, 99u);
}

TEST(UnwindEndsTest, FaultInTheMiddle) {
  UnwindWorld world;
  world.Publish({{0x400100, CfaAt(kRsp, 8)}});
  world.Stack(kStack, {0x400101});
  EXPECT_EQ(world.Walk(0x400100), "400100 400101 | fault");
  EXPECT_EQ(user_counter(PROFD_COUNTER_USER_STACK_FAULT), 1u);
}

TEST(UnwindEndsTest, ReturnAddressThatIsNoCode) {
  UnwindWorld world;
  world.Publish({{0x400100, CfaAt(kRsp, 8)}});
  world.Stack(kStack, {kStack + 0x10});
  EXPECT_EQ(world.Walk(0x400100), "400100 7ffc00000010 | no-mapping");
}

// What lies on its stack is no return address, and may look like one.
TEST(UnwindEndsTest, AThreadThatWasJustMadeHasNoCaller) {
  constexpr std::int32_t kClone = 56;
  constexpr std::int32_t kClone3 = 435;
  constexpr std::uint64_t kArguments = kStack + 0x100;
  UnwindWorld world;
  world.Publish({{0x400100, CfaAt(kRsp, 8)}, {0x400200, OfKind(PROFD_CFA_END)}});
  world.Stack(kStack, {0x400201});
  world.Set(kRsi, kStack);
  world.Set(kRdi, kArguments);
  world.Stack(kArguments + 40, {kStack});
  for (const std::int32_t number : {kClone, kClone3}) {
    world.SetSyscall(number);
    world.Set(kRax, 0);
    EXPECT_EQ(world.Walk(0x400100), "400100 | complete") << number;
    world.Set(kRax, static_cast<std::uint64_t>(-38));
    EXPECT_EQ(world.Walk(0x400100), "400100 400201 | complete") << number << ": its maker";
  }
  world.Set(kRax, 0);
  world.Set(kRsi, 0);
  world.Stack(kArguments + 40, {0});
  for (const std::int32_t number : {kClone, kClone3, -1, 0}) {
    world.SetSyscall(number);
    EXPECT_EQ(world.Walk(0x400100), "400100 400201 | complete") << number << ": of a copy";
  }
  world.Set(kRdi, 8);
  world.SetSyscall(kClone3);
  EXPECT_EQ(world.Walk(0x400100), "400100 400201 | complete") << "the tables do not say";
}

TEST(UnwindEndsTest, FrameThatDoesNotLieAboveItsCallee) {
  UnwindWorld world;
  world.Publish({{0x400100, CfaAt(kRsp, 8)}, {0x400200, CfaAt(kRbp, 8)}});
  world.Set(kRbp, kStack);
  world.Stack(kStack, {0x400201});
  EXPECT_EQ(world.Walk(0x400100), "400100 400201 | no-progress");
}

TEST(UnwindEndsTest, SignalFrameThatLeadsToItselfIsBounded) {
  UnwindWorld world;
  world.Publish({{0x400100, OfKind(PROFD_CFA_SIGNAL)}});
  std::vector<std::uint64_t> gregs(17, 0);
  gregs[15] = kStack;
  gregs[16] = 0x400100;
  world.Stack(kStack + 40, gregs);
  world.Walk(0x400100);
  EXPECT_EQ(world.event()->user_frames, PROFD_MAX_USER_FRAMES);
  EXPECT_NE(world.event()->stack_flags & PROFD_STACK_USER_TRUNCATED, 0);
  EXPECT_TRUE(world.GuardIsWhole());
}

TEST(UnwindEndsTest, DeepestStackThatFitsAndOneMore) {
  UnwindWorld world;
  world.SetKernelFrames(PROFD_MAX_KERNEL_FRAMES);
  world.Publish({{0x400100, CfaAt(kRsp, 16)}}, PROFD_FILE_KEEP_CFA);
  std::vector<std::uint64_t> words;
  for (int i = 0; i < PROFD_MAX_USER_FRAMES - 1; ++i) words.insert(words.end(), {7, 0x400101});
  words.insert(words.end(), {7, 0});
  world.Stack(kStack, words);
  world.Walk(0x400100);
  EXPECT_EQ(world.event()->user_frames, PROFD_MAX_USER_FRAMES);
  EXPECT_EQ(world.event()->stack_flags, PROFD_STACK_COMPLETE);
  EXPECT_EQ(world.event()->cfas, PROFD_MAX_USER_FRAMES);

  words.back() = 0x400101;
  words.insert(words.end(), {7, 0});
  world.Stack(kStack, words);
  world.Walk(0x400100);
  EXPECT_EQ(world.event()->user_frames, PROFD_MAX_USER_FRAMES);
  EXPECT_EQ(world.event()->stack_flags, PROFD_STACK_USER_TRUNCATED);
  EXPECT_EQ(world.event()->missing_stack_bytes, kStackEnd - kStack - 16 * PROFD_MAX_USER_FRAMES);
  EXPECT_EQ(world.Frames().front(), 0x400100u);
  EXPECT_TRUE(world.GuardIsWhole());
}

TEST(UnwindEndsTest, CodeOf32BitsKeepsItsProgramCounter) {
  UnwindWorld world;
  world.Publish({{0x400100, CfaAt(kRsp, 8)}});
  EXPECT_EQ(world.Walk(0x400100, false, false), "400100 | 32-bit");
}

}  // namespace
}  // namespace profd
