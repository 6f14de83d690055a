// What FollowFunction makes of small pieces of machine code, and what it refuses.
#include "daemon/unwind/code/function_rows.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace profd::unwind {
namespace {

using Outcome = FunctionRows::Outcome;

// Code at 0x1000.
class Bytes : public Code {
 public:
  static constexpr std::uint64_t kBegin = 0x1000;
  explicit Bytes(std::vector<std::uint8_t> code, std::set<std::uint64_t> functions = {})
      : code_(std::move(code)), functions_(std::move(functions)) {}
  [[nodiscard]] std::span<const std::uint8_t> At(std::uint64_t address) const override {
    if (address - kBegin >= code_.size()) return {};
    return std::span(code_).subspan(address - kBegin);
  }
  [[nodiscard]] CodeBegin BeginAt(std::uint64_t address) const override {
    return functions_.contains(address) ? CodeBegin::kFunction : CodeBegin::kNothing;
  }
  [[nodiscard]] std::vector<std::uint64_t> ReadTable(std::uint64_t, bool,
                                                     std::size_t) const override {
    return {};
  }

 private:
  std::vector<std::uint8_t> code_;
  std::set<std::uint64_t> functions_;
};

FunctionRows Follow(const Bytes& code, StartKind kind = StartKind::kListed,
                    std::uint64_t budget = 1'000) {
  return FollowFunction(code, Bytes::kBegin, kind, budget);
}

// The rule of the instruction at a distance from the begin.
profd_unwind_rule RuleAt(const FunctionRows& rows, std::uint64_t distance) {
  for (const auto& piece : rows.pieces)
    if (piece.range.begin == Bytes::kBegin + distance) return piece.rule;
  return kNoRule;
}

TEST(FunctionRowsTest, PushAndPop) {
  const auto rows = Follow(Bytes({0x53, 0x5b, 0xc3}));  // push %rbx; pop %rbx; ret
  ASSERT_EQ(rows.outcome, Outcome::kFollowed);
  EXPECT_EQ(RuleAt(rows, 0).offset, 8);
  EXPECT_EQ(RuleAt(rows, 1).offset, 16);
  EXPECT_EQ(RuleAt(rows, 1).saved[PROFD_SAVED_RBX], PROFD_SAME);
  EXPECT_EQ(RuleAt(rows, 2).offset, 8);
  EXPECT_EQ(rows.parts, (std::vector<CodeRange>{{Bytes::kBegin, Bytes::kBegin + 3}}));
}

TEST(FunctionRowsTest, SavedRegisterThatIsDataMeanwhile) {
  // push %rbx; mov $1,%ebx; nop; pop %rbx; ret
  const auto rows = Follow(Bytes({0x53, 0xbb, 1, 0, 0, 0, 0x90, 0x5b, 0xc3}));
  ASSERT_EQ(rows.outcome, Outcome::kFollowed);
  EXPECT_EQ(RuleAt(rows, 6).saved[PROFD_SAVED_RBX], -2);
}

TEST(FunctionRowsTest, ReturnWithTheStackPointerElsewhere) {
  EXPECT_EQ(Follow(Bytes({0x53, 0xc3})).outcome, Outcome::kUnbalanced);  // push %rbx; ret
  // pop %rbx; ret: from within a function
  EXPECT_EQ(Follow(Bytes({0x5b, 0xc3})).outcome, Outcome::kUnbalanced);
}

TEST(FunctionRowsTest, RegisterThatIsNotRestored) {
  const Bytes code({0xbb, 1, 0, 0, 0, 0xc3});  // mov $1,%ebx; ret
  EXPECT_EQ(Follow(code).outcome, Outcome::kChanged);
  const auto internal = Follow(code, StartKind::kInternal);
  ASSERT_EQ(internal.outcome, Outcome::kFollowed);
  EXPECT_EQ(RuleAt(internal, 0).saved[PROFD_SAVED_RBX], PROFD_LOST) << "in all of its rules";
  EXPECT_EQ(RuleAt(internal, 0).saved[PROFD_SAVED_RBP], PROFD_SAME);
}

TEST(FunctionRowsTest, LikelyStartHasToReturn) {
  const Bytes endless({0xeb, 0xfe});  // jmp to itself
  EXPECT_EQ(Follow(endless).outcome, Outcome::kFollowed);
  EXPECT_EQ(Follow(endless, StartKind::kLikely).outcome, Outcome::kNoReturn);
  const Bytes stops({0x90, 0x0f, 0x0b});  // nop; ud2
  EXPECT_EQ(Follow(stops).outcome, Outcome::kFollowed);
  EXPECT_EQ(Follow(stops, StartKind::kLikely).outcome, Outcome::kNoReturn);
}

TEST(FunctionRowsTest, WhatIsNoCode) {
  EXPECT_EQ(Follow(Bytes({0x90, 0x06, 0xc3})).outcome, Outcome::kNoInstruction);
  EXPECT_EQ(Follow(Bytes({0x90, 0x90})).outcome, Outcome::kRunsOut);
}

TEST(FunctionRowsTest, PathsThatDisagree) {
  // test %edi,%edi; je to ret; push %rax; ret
  EXPECT_EQ(Follow(Bytes({0x85, 0xff, 0x74, 0x01, 0x50, 0xc3})).outcome, Outcome::kUnbalanced);
}

TEST(FunctionRowsTest, AnotherStackIsLeftByAWordOnIt) {
  // mov %rsp,%rbx; mov (%rdi),%rsp; mov %rbx,8(%rsp); mov $1,%ebx; mov 8(%rsp),%rsp; ret
  const std::vector<std::uint8_t> code{0x48, 0x89, 0xe3, 0x48, 0x8b, 0x27, 0x48, 0x89,
                                       0x5c, 0x24, 8,    0xbb, 1,    0,    0,    0,
                                       0x48, 0x8b, 0x64, 0x24, 8,    0xc3};
  const auto rows = Follow(Bytes(code), StartKind::kInternal);  // it does not restore %rbx
  ASSERT_EQ(rows.outcome, Outcome::kFollowed);
  const profd_unwind_rule rule = RuleAt(rows, 16);
  EXPECT_EQ(rule.cfa, PROFD_CFA_DEREF);
  EXPECT_EQ(rule.cfa_register, 7);
  EXPECT_EQ(rule.offset, 8);
  EXPECT_EQ(rule.add, 8);
}

TEST(FunctionRowsTest, AStackPointerThatALoopMovesIsNotFollowed) {
  // mov %rsp,%rbx; mov (%rdi),%rsp; mov %rbx,8(%rsp);
  // 1: sub $16,%rsp; dec %eax; jnz 1b; mov 8(%rsp),%rsp; ret
  const std::vector<std::uint8_t> code{0x48, 0x89, 0xe3, 0x48, 0x8b, 0x27, 0x48, 0x89, 0x5c,
                                       0x24, 8,    0x48, 0x83, 0xec, 16,   0xff, 0xc8, 0x75,
                                       0xf8, 0x48, 0x8b, 0x64, 0x24, 8,    0xc3};
  EXPECT_EQ(Follow(Bytes(code), StartKind::kInternal).outcome, Outcome::kUnbalanced);
}

TEST(FunctionRowsTest, CallThatDoesNotReturn) {
  // test %edi,%edi; je to ret; push %rbx; call; ret
  const auto rows = Follow(Bytes({0x85, 0xff, 0x74, 0x06, 0x53, 0xe8, 0, 0, 1, 0, 0xc3}));
  ASSERT_EQ(rows.outcome, Outcome::kFollowed);
  EXPECT_EQ(RuleAt(rows, 5).offset, 16);
  EXPECT_EQ(RuleAt(rows, 10).offset, 8);
  EXPECT_EQ(rows.calls, std::vector<std::uint64_t>{0x1000 + 10 + 0x10000});
}

TEST(FunctionRowsTest, JumpBackIntoWhatHasBeenFollowed) {
  // push %rbx; sub $8,%rsp; dec %ebx; jne to dec; add $8,%rsp; pop %rbx; ret
  const auto rows = Follow(Bytes(
      {0x53, 0x48, 0x83, 0xec, 0x08, 0xff, 0xcb, 0x75, 0xfc, 0x48, 0x83, 0xc4, 0x08, 0x5b, 0xc3}));
  ASSERT_EQ(rows.outcome, Outcome::kFollowed);
  EXPECT_EQ(RuleAt(rows, 5).offset, 24);
  EXPECT_EQ(RuleAt(rows, 5).saved[PROFD_SAVED_RBX], -2) << "the loop has changed it";
}

TEST(FunctionRowsTest, JumpToAnotherFunctionIsAReturn) {
  const std::vector<std::uint8_t> code{0x53, 0x5b, 0xeb, 0x00, 0xc3};  // push; pop; jmp to ret
  EXPECT_EQ(Follow(Bytes(code, {0x1004})).outcome, Outcome::kFollowed);
  const std::vector<std::uint8_t> deep{0x53, 0xeb, 0x00, 0x5b, 0xc3};  // push; jmp to pop; ret
  EXPECT_EQ(Follow(Bytes(deep)).outcome, Outcome::kFollowed);
  EXPECT_EQ(Follow(Bytes(deep, {0x1003})).outcome, Outcome::kUnbalanced);
}

TEST(FunctionRowsTest, EndsWithItsBudget) {
  const Bytes code({0x90, 0x90, 0x90, 0x90, 0xc3});
  EXPECT_EQ(Follow(code, StartKind::kListed, 4).outcome, Outcome::kTooLong);
  EXPECT_EQ(Follow(code, StartKind::kListed, 10).outcome, Outcome::kFollowed);
}

}  // namespace
}  // namespace profd::unwind
