#include "daemon/budget/share/shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"

namespace profd::budget {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kSecond = 1'000'000'000;

class SharesTest : public ::testing::Test {
 protected:
  SharesTest() { clock_.Set(kSecond, 0); }
  void Wait(std::uint64_t ns) { clock_.Set(clock_.MonotonicNs() + ns, 0); }
  int Taken(std::uint32_t id, int tries) {
    int taken = 0;
    for (int i = 0; i < tries; ++i) taken += shares_.Take(id) ? 1 : 0;
    return taken;
  }
  test::ManualClock clock_;
  Shares shares_{PROFD_SHARE_JIT_CODE, {.per_second = 10, .at_once = 100}, clock_};
};

TEST_F(SharesTest, SoMuchAtOnceAndSoMuchASecond) {
  EXPECT_EQ(Taken(1, 1'000), 100);
  EXPECT_EQ(Taken(2, 50), 50) << "each has its own";
  Wait(kSecond);
  EXPECT_EQ(Taken(1, 1'000), 10);
  Wait(1'000 * kSecond);
  EXPECT_EQ(Taken(1, 1'000), 100) << "what is not used is not saved beyond the bound";
}

TEST(BeyondSince, IsWhatHasBeenAdded) {
  const auto share = [](std::uint32_t id, std::uint64_t count) {
    return BeyondShare{{PROFD_SHARE_JIT_CODE, id}, count, 0};
  };
  const auto since = BeyondSince({share(1, 3), share(2, 5), share(3, 9)},
                                 {share(1, 3), share(2, 7), share(3, 4), share(4, 6)});
  ASSERT_THAT(since, SizeIs(3)) << "of the first one nothing has been added";
  EXPECT_EQ(since[0].key.id, 2u);
  EXPECT_EQ(since[0].count, 2u);
  EXPECT_EQ(since[1].count, 4u) << "it was forgotten, and counts from 0 again";
  EXPECT_EQ(since[2].count, 6u);
}

TEST_F(SharesTest, NamesWhoWasBeyondAndByHowMuch) {
  EXPECT_EQ(Taken(1, 103), 100);
  EXPECT_EQ(Taken(2, 100), 100);
  Wait(7);
  shares_.Count(3);
  const auto beyond = shares_.Beyond();
  ASSERT_THAT(beyond, SizeIs(2));
  for (const BeyondShare& one : beyond) {
    EXPECT_EQ(one.key.kind, PROFD_SHARE_JIT_CODE);
    EXPECT_EQ(one.count, one.key.id == 1 ? 3u : 1u);
    EXPECT_EQ(one.last_ns, one.key.id == 1 ? kSecond : kSecond + 7);
  }
}

TEST_F(SharesTest, WhatCostsMoreIsPaidForLater) {
  ASSERT_TRUE(shares_.Admit(1));
  shares_.Charge(1, 120);
  EXPECT_FALSE(shares_.Admit(1));
  Wait(2 * kSecond);
  EXPECT_FALSE(shares_.Admit(1));
  Wait(kSecond / 10);
  EXPECT_TRUE(shares_.Admit(1));
}

TEST_F(SharesTest, MadeUpIdsCostABoundedAmount) {
  for (std::uint32_t id = 0; id < 3 * Shares::kMaxKept; ++id) shares_.Count(id);
  EXPECT_THAT(shares_.Beyond(), SizeIs(Shares::kMaxKept));
}

TEST_F(SharesTest, WithinTheShareNoProcessIsNamed) {
  EXPECT_EQ(Taken(1, 100), 100);
  EXPECT_THAT(shares_.Beyond(), IsEmpty());
}

}  // namespace
}  // namespace profd::budget
