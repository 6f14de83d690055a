// Each kind of rule on a made-up stack, and what the walk found, as text.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/bpf_user/unwind_world.h"

namespace profd {
namespace {

constexpr std::uint64_t kStack = UnwindWorld::kStack;

// Parameter: which of the two readers walks.
class UnwindRulesTest : public testing::TestWithParam<bool> {
 protected:
  std::string Walk(std::uint64_t pc) { return world_.Walk(pc, GetParam()); }
  UnwindWorld world_;
};

TEST_P(UnwindRulesTest, LeafPrologueBodyAndEpilogue) {
  // leaf: 400100; body: push, sub 0x10; root at 400200.
  world_.Publish({{0x400100, CfaAt(kRsp, 8)},
                  {0x400101, CfaAt(kRsp, 16)},
                  {0x400105, CfaAt(kRsp, 32)},
                  {0x400110, CfaAt(kRsp, 16)},
                  {0x400111, CfaAt(kRsp, 8)},
                  {0x400200, OfKind(PROFD_CFA_END)}});
  world_.Stack(kStack, {0x400210, 0x400220, 0x11, 0x400230});
  EXPECT_EQ(Walk(0x400100), "400100 400210 | complete");
  EXPECT_EQ(Walk(0x400101), "400101 400220 | complete");
  EXPECT_EQ(Walk(0x400108), "400108 400230 | complete");
  EXPECT_EQ(Walk(0x400110), "400110 400220 | complete");
  EXPECT_EQ(Walk(0x400111), "400111 400210 | complete");
  EXPECT_EQ(world_.event()->missing_stack_bytes, 0u);
}

TEST_P(UnwindRulesTest, NoreturnTailIsLookedUpAtTheCall) {
  // The call is the last instruction of its function: the address after it is another function's.
  world_.Publish({{0x400100, CfaAt(kRsp, 8)},
                  {0x400200, CfaAt(kRsp, 24)},
                  {0x400210, CfaAt(kRsp, 8)},
                  {0x400300, OfKind(PROFD_CFA_END)}});
  world_.Stack(kStack, {0x400210, 0x1, 0x2, 0x400301});
  EXPECT_EQ(Walk(0x400100), "400100 400210 400301 | complete");
}

TEST_P(UnwindRulesTest, RegistersAreFollowedAcrossFramesThatDoNotSaveThem) {
  // The outer function's frame hangs on rbx, which a middle one saved; rbp is untouched.
  world_.Publish({{0x400100, CfaAt(kRsp, 8)},
                  {0x400200, Saving(CfaAt(kRsp, 16), PROFD_SAVED_RBX, -2)},
                  {0x400300, CfaAt(kRbx, 0x20)},
                  {0x400400, CfaAt(kRbp, 16)},
                  {0x400500, OfKind(PROFD_CFA_END)}});
  world_.Set(kRbp, kStack + 0x80);
  world_.Set(kRbx, 0xbad);
  world_.Stack(kStack, {0x400201, kStack + 0x20, 0x400301});
  world_.Stack(kStack + 0x38, {0x400401});
  world_.Stack(kStack + 0x88, {0x400501});
  EXPECT_EQ(Walk(0x400100), "400100 400201 400301 400401 400501 | complete");
}

TEST_P(UnwindRulesTest, CfaOfOtherRegistersOnlyWhereNothingHasBeenCalled) {
  world_.Publish({{0x400100, CfaAt(kR10, 0)}, {0x400200, CfaAt(kRsp, 8)}});
  world_.Set(kR10, kStack + 0x10);
  world_.Stack(kStack, {0x400101, 0x400201, 0});
  EXPECT_EQ(Walk(0x400100), "400100 400201 | complete");
  EXPECT_EQ(Walk(0x400200), "400200 400101 | register-lost");
}

TEST_P(UnwindRulesTest, DrapCountsFromRbp) {
  // lea r10, [rsp+8]; and rsp, -32; push [r10-8]; push rbp; mov rbp, rsp; push r12; push r10
  profd_unwind_rule drap = Saving(Deref(kRbp, -16, 0), PROFD_SAVED_RBP, 0);
  drap.flags = PROFD_RULE_SAVED_BY_RBP;
  drap.saved[PROFD_SAVED_R12] = -1;
  world_.Publish({{0x400100, drap}, {0x400200, CfaAt(kR12, 8)}, {0x400300, OfKind(PROFD_CFA_END)}});
  world_.Set(kRbp, kStack + 0x40);
  world_.Stack(kStack + 0x30, {kStack + 0x80, kStack + 0x100, 0x5151});
  world_.Stack(kStack + 0x78, {0x400201});
  world_.Stack(kStack + 0x100, {0x400301});
  EXPECT_EQ(Walk(0x400100), "400100 400201 400301 | complete");
}

TEST_P(UnwindRulesTest, PltStubBeforeAndAfterItsPush) {
  world_.Publish({{0x400100, OfKind(PROFD_CFA_PLT, 0, 11)}, {0x400200, OfKind(PROFD_CFA_END)}});
  world_.Stack(kStack, {0x400201, 0x400202});
  EXPECT_EQ(Walk(0x40010a), "40010a 400201 | complete");
  EXPECT_EQ(Walk(0x40010b), "40010b 400202 | complete");
}

TEST_P(UnwindRulesTest, ReturnAddressInARegister) {
  // vfork of glibc keeps it in rdi, and the frame is empty.
  profd_unwind_rule vfork = CfaAt(kRsp, 0);
  vfork.flags = PROFD_RULE_RETURN_IN_REGISTER;
  vfork.return_address = kRdi;
  world_.Publish(
      {{0x400100, vfork}, {0x400200, CfaAt(kRsp, 16)}, {0x400300, OfKind(PROFD_CFA_END)}});
  world_.Set(kRdi, 0x400210);
  world_.Stack(kStack, {0, 0x400310});
  EXPECT_EQ(Walk(0x400100), "400100 400210 400310 | complete");
}

TEST_P(UnwindRulesTest, SignalOnAnotherStackInterruptsALeaf) {
  // handler -> restorer (signal frame) -> leaf on the thread's own stack -> its caller by rbp.
  constexpr std::uint64_t kAltStack = 0x7000'0000;
  world_.Publish({{0x400100, CfaAt(kRsp, 8)},
                  {0x40017f, OfKind(PROFD_CFA_SIGNAL, 0)},
                  {0x400200, CfaAt(kRsp, 8)},
                  {0x400300, CfaAt(kRbp, 16)},
                  {0x400400, OfKind(PROFD_CFA_END)}});
  world_.Set(kRsp, kAltStack);
  world_.Stack(kAltStack, {0x400180});
  std::vector<std::uint64_t> gregs(17, 0xdead);
  gregs[10] = kStack + 0x40;  // rbp
  gregs[15] = kStack;         // rsp
  gregs[16] = 0x400200;       // rip: the first instruction, so nothing before it counts
  world_.Stack(kAltStack + 8 + 40, gregs);
  world_.Stack(kStack, {0x400301});
  world_.Stack(kStack + 0x48, {0x400401});
  EXPECT_EQ(Walk(0x400100), "400100 400180! 400200! 400301 400401 | complete");
}

TEST_P(UnwindRulesTest, KeepsTheCfaOfFramesThatMayHoldAnInterpreter) {
  world_.Publish({{0x400100, CfaAt(kRsp, 8)}, {0x400200, CfaAt(kRsp, 0x18)}}, PROFD_FILE_KEEP_CFA);
  world_.Stack(kStack, {0x400201, 1, 2, 0});
  world_.SetKernelFrames(3);
  EXPECT_EQ(Walk(0x400100), "400100 400201 | complete");
  ASSERT_EQ(world_.event()->cfas, 2);
  const __u64* cfas = world_.event()->frames + 3 + 2;
  EXPECT_EQ(cfas[0], kStack + 8);
  EXPECT_EQ(cfas[1], (std::uint64_t{1} << PROFD_CFA_INDEX_SHIFT) | (kStack + 0x20));
}

INSTANTIATE_TEST_SUITE_P(Readers, UnwindRulesTest, testing::Bool(),
                         [](const auto& reader) { return reader.param ? "Task" : "Current"; });

}  // namespace
}  // namespace profd
