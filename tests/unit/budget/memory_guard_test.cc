#include "daemon/budget/memory_guard.h"

#include <gtest/gtest.h>

namespace profd::budget {
namespace {

constexpr std::uint64_t kCap = 1000;
constexpr std::uint64_t kMiB = 1u << 20;

class MemoryGuardTest : public ::testing::Test {
 protected:
  MemoryShare first_, second_, telling_;
  budget::MemoryGuard guard_{
      kCap, {{"first", &first_}, {"second", &second_}, {"telling", &telling_, false}}};
};

TEST_F(MemoryGuardTest, NobodyIsAskedWhileThereIsRoom) {
  first_.Set(500);
  guard_.Look(650);
  EXPECT_EQ(first_.requested(), 0u);
  EXPECT_FALSE(guard_.dropping());
}

TEST_F(MemoryGuardTest, TheMoreRoomThereIsTheLaterItNeedsToLookAgain) {
  guard_.Look(650);
  EXPECT_DOUBLE_EQ(guard_.IntervalScale(), 1);
  guard_.Look(300);
  EXPECT_DOUBLE_EQ(guard_.IntervalScale(), 2) << "350 bytes are below the cap at 650, and 700 now";
  for (const std::uint64_t used : {651u, 750u, 1000u, 5000u}) {
    guard_.Look(used);
    EXPECT_DOUBLE_EQ(guard_.IntervalScale(), 1) << used;
  }
}

TEST_F(MemoryGuardTest, TheFirstIsAskedForAsMuchAsIsNeededAndTheNextForTheRest) {
  first_.Set(60);
  second_.Set(500);
  telling_.Set(500);
  guard_.Look(700);
  EXPECT_EQ(first_.requested(), 60u);
  EXPECT_EQ(second_.requested(), 40u) << "to come down to 600";
  EXPECT_EQ(telling_.requested(), 0u);
  EXPECT_EQ(guard_.status().reclaim_requested_bytes, 100u);
}

TEST_F(MemoryGuardTest, WhoHasAnsweredIsAskedAgainAfterSomePatience) {
  first_.Set(500);
  guard_.Look(700);
  EXPECT_EQ(first_.TakeReclaimRequest(), 100u);
  EXPECT_EQ(first_.TakeReclaimRequest(), 0u);
  for (int i = 1; i < budget::MemoryGuard::kPatience; ++i) guard_.Look(700);
  EXPECT_EQ(first_.requested(), 0u);
  guard_.Look(700);
  EXPECT_EQ(first_.requested(), 100u);
}

TEST_F(MemoryGuardTest, NearTheCapThereIsNoPatienceAndWorkIsDropped) {
  first_.Set(500);
  guard_.Look(751);
  EXPECT_TRUE(guard_.dropping());
  EXPECT_EQ(first_.TakeReclaimRequest(), 151u);
  guard_.Look(751);
  EXPECT_EQ(first_.requested(), 151u);
}

TEST_F(MemoryGuardTest, WorkIsTakenOnAgainOnlyWellBelow) {
  guard_.Look(751);
  guard_.Look(701);
  EXPECT_TRUE(guard_.dropping());
  guard_.Look(700);
  EXPECT_FALSE(guard_.dropping());
  guard_.Look(750);
  EXPECT_FALSE(guard_.dropping());
  EXPECT_EQ(guard_.status().peak_bytes, 751u);
}

TEST_F(MemoryGuardTest, WhoHasNotAnsweredIsNotAskedForMore) {
  first_.Set(500);
  guard_.Look(760);
  guard_.Look(990);
  EXPECT_EQ(first_.requested(), 160u);
  EXPECT_EQ(guard_.status().reclaim_requested_bytes, 160u);
}

TEST_F(MemoryGuardTest, SaysOnceThatHoldersHaveShrunk) {
  first_.Set(10 * kMiB);
  EXPECT_FALSE(guard_.TakeShrunk());
  first_.Set(9 * kMiB);
  EXPECT_FALSE(guard_.TakeShrunk()) << "not worth it";
  first_.Set(7 * kMiB);
  EXPECT_TRUE(guard_.TakeShrunk());
  EXPECT_FALSE(guard_.TakeShrunk());
}

TEST_F(MemoryGuardTest, RoomIsWhatIsLeftBelowTheCap) {
  guard_.Look(900);
  EXPECT_EQ(guard_.room_bytes(), 100u);
  guard_.Look(1100);
  EXPECT_EQ(guard_.room_bytes(), 0u);
}

TEST(MemoryGateTest, RoomThatWasTakenIsGoneUntilTheNextLook) {
  MemoryGate gate;
  EXPECT_FALSE(gate.full());
  EXPECT_TRUE(gate.TakeRoom(kMiB)) << "before the first look all fits";
  gate.Set(true, 100);
  EXPECT_TRUE(gate.full());
  EXPECT_TRUE(gate.TakeRoom(60));
  EXPECT_FALSE(gate.TakeRoom(60));
  EXPECT_TRUE(gate.TakeRoom(40));
  gate.Set(false, 60);
  EXPECT_TRUE(gate.TakeRoom(60));
}

TEST_F(MemoryGuardTest, TellsWhatEveryHolderHas) {
  second_.Set(7);
  const budget::MemoryStatus status = guard_.status();
  EXPECT_EQ(status.cap_bytes, kCap);
  ASSERT_EQ(status.holders.size(), 3u);
  EXPECT_EQ(status.holders[1].name, "second");
  EXPECT_EQ(status.holders[1].bytes, 7u);
}

}  // namespace
}  // namespace profd::budget
