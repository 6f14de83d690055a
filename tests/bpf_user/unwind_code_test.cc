// Rules that were made from machine code are believed only where they lead behind a call.
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>

#include "tests/bpf_user/unwind_world.h"

namespace profd {
namespace {

constexpr std::uint64_t kStack = UnwindWorld::kStack;
constexpr std::uint64_t kCaller = 0x400208;

profd_unwind_rule FromCode(profd_unwind_rule rule) {
  rule.flags |= PROFD_RULE_FROM_CODE;
  return rule;
}

// Bytes that end before a return address; what is before them is nothing that calls.
std::uint64_t EndingWith(std::initializer_list<std::uint8_t> bytes) {
  std::uint64_t word = 0x1111'1111'1111'1111;
  for (const std::uint8_t byte : bytes) word = word >> 8 | std::uint64_t{byte} << 56;
  return word;
}

// A function with a rule from code, called at kCaller, whose own rule is one of the file.
std::string WalkFromCode(std::uint64_t before_return, std::uint64_t frame_pointer = 0) {
  UnwindWorld world;
  world.Publish({{0x400100, FromCode(CfaAt(kRsp, 16))},
                 {0x400200, CfaAt(kRsp, 16)},
                 {0x400300, OfKind(PROFD_CFA_END)}});
  world.Set(kRbp, frame_pointer);
  world.Stack(kStack, {7, kCaller, 8, 0x400301});
  world.Stack(kStack + 0x40, {0, 0x400302});
  world.Stack(kCaller - 8, {before_return});
  return world.Walk(0x400100);
}

constexpr const char* kWhole = "400100 400208 400301 | complete";

TEST(UnwindCodeTest, BehindACallOfAnyKind) {
  EXPECT_EQ(WalkFromCode(EndingWith({0xe8, 1, 2, 3, 4})), kWhole) << "call, to a distance";
  EXPECT_EQ(WalkFromCode(EndingWith({0xff, 0xd0})), kWhole) << "call *%rax";
  EXPECT_EQ(WalkFromCode(EndingWith({0x41, 0xff, 0xd4})), kWhole) << "call *%r12";
  EXPECT_EQ(WalkFromCode(EndingWith({0xff, 0x10})), kWhole) << "call *(%rax)";
  EXPECT_EQ(WalkFromCode(EndingWith({0xff, 0x14, 0x24})), kWhole) << "call *(%rsp)";
  EXPECT_EQ(WalkFromCode(EndingWith({0xff, 0x50, 0x18})), kWhole) << "call *24(%rax)";
  EXPECT_EQ(WalkFromCode(EndingWith({0xff, 0x54, 0x24, 0x18})), kWhole) << "call *24(%rsp)";
  EXPECT_EQ(WalkFromCode(EndingWith({0xff, 0x15, 1, 2, 3, 4})), kWhole) << "call *x(%rip)";
  EXPECT_EQ(WalkFromCode(EndingWith({0xff, 0x90, 1, 2, 3, 4})), kWhole) << "call *x(%rax)";
  EXPECT_EQ(WalkFromCode(EndingWith({0xff, 0x94, 0xc3, 1, 2, 3, 4})), kWhole)
      << "call *x(%rbx,%rax,8)";
  EXPECT_EQ(WalkFromCode(EndingWith({0xff, 0x14, 0xc5, 1, 2, 3, 4})), kWhole) << "call *x(,%rax,8)";
}

TEST(UnwindCodeTest, ElsewhereItIsLeftByItsFramePointer) {
  const std::uint64_t no_call = EndingWith({0x48, 0x89, 0xc3});
  EXPECT_EQ(WalkFromCode(no_call), "400100 | no-frame-pointer");
  EXPECT_EQ(WalkFromCode(no_call, kStack + 0x40), "400100 400302? | complete uncertain");
}

TEST(UnwindCodeTest, WhatOnlyLooksLikeACall) {
  EXPECT_EQ(WalkFromCode(EndingWith({0xff, 0xe0})), "400100 | no-frame-pointer") << "jmp *%rax";
  EXPECT_EQ(WalkFromCode(EndingWith({0xff, 0x15})), "400100 | no-frame-pointer")
      << "without its distance";
  EXPECT_EQ(WalkFromCode(EndingWith({0xff, 0x54, 0x24})), "400100 | no-frame-pointer")
      << "without its distance";
  EXPECT_EQ(WalkFromCode(EndingWith({0xe8, 1, 2, 3})), "400100 | no-frame-pointer") << "cut";
}

TEST(UnwindCodeTest, CodeThatCannotBeReadIsNotBelieved) {
  UnwindWorld world;
  world.Publish({{0x400100, FromCode(CfaAt(kRsp, 16))}});
  world.Stack(kStack, {7, kCaller});
  EXPECT_EQ(world.Walk(0x400100), "400100 | no-frame-pointer");
}

TEST(UnwindCodeTest, EndOfAStackNeedsNoCall) {
  UnwindWorld world;
  world.Publish({{0x400100, FromCode(CfaAt(kRsp, 16))}});
  world.Stack(kStack, {7, 0});
  EXPECT_EQ(world.Walk(0x400100), "400100 | complete");
}

// Until there are rules it is left by its frame pointer.
TEST(UnwindCodeTest, RulesOfCodeMadeAtRunTimeAreRequested) {
  UnwindWorld world;
  world.Set(kRbp, kStack);
  world.Stack(kStack, {0, 0});
  EXPECT_EQ(world.Walk(UnwindWorld::kJit + 0x100), "700100 | complete uncertain");
  const profd_wanted* first = nullptr;
  ASSERT_EQ(user_wanted(&first), 1u);
  const profd_wanted& wanted = *first;
  EXPECT_EQ(wanted.key.device, PROFD_MEMORY_DEVICE);
  EXPECT_EQ(wanted.key.inode, UnwindWorld::kJit);
  EXPECT_EQ(wanted.key.size, 0x1000u);
  EXPECT_NE(wanted.key.mtime_ns, 0u) << "the address space";
  EXPECT_EQ(wanted.mapping_begin, UnwindWorld::kJit);
  EXPECT_EQ(wanted.mapping_end, UnwindWorld::kJit + 0x1000);
  EXPECT_EQ(wanted.file_offset, 0x100u);
}

// Only the frame that was refused is left in another way.
TEST(UnwindCodeTest, RuleOfTheNextFrameIsTriedAgain) {
  UnwindWorld world;
  world.Publish({{0x400100, FromCode(CfaAt(kRsp, 16))}, {0x400200, OfKind(PROFD_CFA_END)}});
  world.Stack(kStack, {7, 0x400150});
  world.Set(kRbp, kStack + 0x20);
  world.Stack(0x400148, {EndingWith({0x90})});
  world.Stack(kStack + 0x20, {0, 0x400180, 9, 0x400201});
  world.Stack(kCaller - 8, {});
  world.Stack(0x4001f9, {EndingWith({0xe8, 0, 0, 0, 0})});
  EXPECT_EQ(world.Walk(0x400100), "400100 400180? 400201? | complete uncertain");
}

}  // namespace
}  // namespace profd
