#include "daemon/source/sessions/unreadable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>

namespace profd::source {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint32_t kUser = 1'000;
constexpr std::uint32_t kOther = 2'000;

class UnreadableTest : public testing::Test {
 protected:
  // The reader of this process's memory hangs.
  void Hang(std::uint32_t pid, std::uint32_t user) {
    held_.insert(++requests_);
    unreadable_.Note(pid, user, requests_, now_);
  }
  Unreadable::Orders Next() {
    return unreadable_.Next(now_,
                            [this](std::uint64_t request) { return held_.contains(request); });
  }
  std::uint64_t Beyond(profd_share_kind kind, std::uint32_t id) {
    const auto all = unreadable_.Beyond();
    const auto found = std::ranges::find_if(
        all, [&](const auto& one) { return one.key.kind == kind && one.key.id == id; });
    return found == all.end() ? 0 : found->count;
  }

  Unreadable unreadable_;
  std::set<std::uint64_t> held_;
  std::uint64_t requests_ = 0;
  Unreadable::Time now_{std::chrono::hours(1)};
};

TEST_F(UnreadableTest, AProcessIsLeftAloneForGrowingTimes) {
  EXPECT_THAT(Next().pids, IsEmpty());
  for (auto pause = Unreadable::kFirstPause; pause < Unreadable::kLastPause; pause *= 2) {
    Hang(7, kUser);
    held_.clear();
    EXPECT_THAT(Next().pids, ElementsAre(7));
    now_ += pause;
    EXPECT_THAT(Next().pids, IsEmpty());
  }
  Hang(7, kUser);
  now_ += 2 * Unreadable::kLastPause;
  EXPECT_THAT(Next().pids, ElementsAre(7)) << "the kernel still holds its reader";
}

TEST_F(UnreadableTest, AUserOfSeveralIsLeftAloneAndOthersAreRead) {
  Hang(1, kUser);
  EXPECT_THAT(Next().users, IsEmpty());
  Hang(2, kUser);
  const auto orders = Next();
  EXPECT_THAT(orders.users, ElementsAre(kUser));
  EXPECT_EQ(orders.reads, PROFD_READS_ALL);
  EXPECT_EQ(Beyond(PROFD_SHARE_STACKS, 1), 2u);
  EXPECT_EQ(Beyond(PROFD_SHARE_STACKS, 2), 1u);
  EXPECT_EQ(Beyond(PROFD_SHARE_STACKS_OF_USER, kUser), 1u);
  EXPECT_EQ(Beyond(PROFD_SHARE_STACKS_OF_USER, kOther), 0u);
  held_.clear();
  now_ += Unreadable::kFirstPause;
  EXPECT_THAT(Next().users, IsEmpty()) << "its readers have ended";
}

TEST_F(UnreadableTest, ManyUsersTogetherDoNotCostRootItsStacks) {
  for (std::uint32_t i = 0; i < Unreadable::kMaxOfUsers; ++i) {
    EXPECT_EQ(Next().reads, PROFD_READS_ALL);
    Hang(1 + i, kUser + i);
  }
  EXPECT_EQ(Next().reads, PROFD_READS_OF_ROOT);
}

TEST_F(UnreadableTest, RootsOwnAreLeftAloneOneByOne) {
  for (std::uint32_t pid = 1; pid <= 10; ++pid) Hang(pid, 0);
  const auto orders = Next();
  EXPECT_THAT(orders.pids, SizeIs(10));
  EXPECT_THAT(orders.users, IsEmpty());
  EXPECT_EQ(orders.reads, PROFD_READS_ALL);
}

TEST_F(UnreadableTest, WhatIsKeptHasABound) {
  for (std::uint32_t pid = 1; pid <= 1'000; ++pid) Hang(pid, pid);
  const auto orders = Next();
  EXPECT_THAT(orders.pids, SizeIs(PROFD_MAX_UNREADABLE));
  EXPECT_EQ(orders.pids.back(), 1'000u) << "the latest are known";
}

}  // namespace
}  // namespace profd::source
