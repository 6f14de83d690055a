#include "daemon/budget/memory/memory_controller.h"

#include <gtest/gtest.h>

namespace profd::budget {
namespace {

constexpr std::uint64_t kCap = 1000;
constexpr std::uint64_t kMiB = 1u << 20;

class MemoryControllerTest : public ::testing::Test {
 protected:
  MemoryAccount first_{"first"};
  MemoryAccount second_{"second"};
  MemoryAccount unreclaimable_{"unreclaimable", false};
  MemoryController controller_{kCap, {&first_, &second_, &unreclaimable_}};
};

TEST_F(MemoryControllerTest, MakesNoRequestWhileThereIsRoom) {
  first_.Set(500);
  controller_.Update(650);
  EXPECT_EQ(first_.requested(), 0u);
  EXPECT_FALSE(controller_.dropping());
}

TEST_F(MemoryControllerTest, TheIntervalGrowsWithTheRoom) {
  controller_.Update(650);
  EXPECT_DOUBLE_EQ(controller_.IntervalScale(), 1);
  controller_.Update(300);
  EXPECT_DOUBLE_EQ(controller_.IntervalScale(), 2)
      << "350 bytes are below the cap at 650, and 700 now";
  for (const std::uint64_t used : {651u, 750u, 1000u, 5000u}) {
    controller_.Update(used);
    EXPECT_DOUBLE_EQ(controller_.IntervalScale(), 1) << used;
  }
}

TEST_F(MemoryControllerTest, TheIntervalIsLongerWhileMemoryIsCalm) {
  controller_.Update(300);
  for (int i = 1; i < MemoryController::kCalmTicks; ++i) {
    controller_.Update(302);
    EXPECT_LT(controller_.IntervalScale(), 2)
        << "the first update found 300 bytes more, and " << i << " after it no more";
  }
  controller_.Update(300);
  EXPECT_DOUBLE_EQ(controller_.IntervalScale(), 2 * MemoryController::kCalmScale);
  controller_.Update(303);
  EXPECT_LT(controller_.IntervalScale(), 2) << "it grows";
  for (int i = 0; i < 2 * MemoryController::kCalmTicks; ++i) controller_.Update(650);
  EXPECT_DOUBLE_EQ(controller_.IntervalScale(), 1) << "no room is left to wait longer";
}

TEST_F(MemoryControllerTest, RequestsWhatIsNeededFromTheFirstAndTheRestFromTheNext) {
  first_.Set(60);
  second_.Set(500);
  unreclaimable_.Set(500);
  controller_.Update(700);
  EXPECT_EQ(first_.requested(), 60u);
  EXPECT_EQ(second_.requested(), 40u) << "to come down to 600";
  EXPECT_EQ(unreclaimable_.requested(), 0u);
  EXPECT_EQ(controller_.status().reclaim_requested_bytes, 100u);
}

TEST_F(MemoryControllerTest, RepeatsATakenRequestAfterSomeTicks) {
  first_.Set(500);
  controller_.Update(700);
  EXPECT_EQ(first_.TakeReclaimRequest(), 100u);
  EXPECT_EQ(first_.TakeReclaimRequest(), 0u);
  for (int i = 1; i < MemoryController::kRetryTicks; ++i) controller_.Update(700);
  EXPECT_EQ(first_.requested(), 0u);
  controller_.Update(700);
  EXPECT_EQ(first_.requested(), 100u);
}

TEST_F(MemoryControllerTest, NearTheCapItRequestsAtEachUpdateAndWorkIsDroppedIfThatDoesNotHelp) {
  first_.Set(500);
  for (int i = 0; i < MemoryController::kDropTicks; ++i) {
    controller_.Update(751);
    EXPECT_TRUE(controller_.urgent());
    EXPECT_FALSE(controller_.dropping()) << i;
    EXPECT_EQ(first_.TakeReclaimRequest(), 151u);
  }
  controller_.Update(751);
  EXPECT_TRUE(controller_.dropping());
}

TEST_F(MemoryControllerTest, AMomentNearTheCapCostsNoWork) {
  for (int i = 0; i < 10 * MemoryController::kDropTicks; ++i) {
    controller_.Update(i % MemoryController::kDropTicks == 0 ? 750 : 850);
    EXPECT_FALSE(controller_.dropping());
  }
}

TEST_F(MemoryControllerTest, WorkResumesOnlyWellBelow) {
  controller_.Update(851);
  EXPECT_TRUE(controller_.dropping()) << "so near that it is dropped at once";
  controller_.Update(701);
  EXPECT_TRUE(controller_.dropping());
  controller_.Update(700);
  EXPECT_FALSE(controller_.dropping());
  controller_.Update(750);
  EXPECT_FALSE(controller_.dropping());
  EXPECT_EQ(controller_.status().peak_bytes, 851u);
}

TEST_F(MemoryControllerTest, AddsNothingToARequestThatIsNotTaken) {
  first_.Set(500);
  controller_.Update(760);
  controller_.Update(990);
  EXPECT_EQ(first_.requested(), 160u);
  EXPECT_EQ(controller_.status().reclaim_requested_bytes, 160u);
}

TEST_F(MemoryControllerTest, ReportsOnceThatAccountsHaveShrunk) {
  first_.Set(10 * kMiB);
  EXPECT_FALSE(controller_.TakeShrunk());
  first_.Set(9 * kMiB);
  EXPECT_FALSE(controller_.TakeShrunk()) << "not worth it";
  first_.Set(7 * kMiB);
  EXPECT_TRUE(controller_.TakeShrunk());
  EXPECT_FALSE(controller_.TakeShrunk());
}

TEST_F(MemoryControllerTest, RoomIsWhatIsLeftBelowTheCap) {
  controller_.Update(900);
  EXPECT_EQ(controller_.room_bytes(), 100u);
  controller_.Update(1100);
  EXPECT_EQ(controller_.room_bytes(), 0u);
}

TEST_F(MemoryControllerTest, StatusListsWhatEachAccountHolds) {
  second_.Set(7);
  const MemoryStatus status = controller_.status();
  EXPECT_EQ(status.cap_bytes, kCap);
  ASSERT_EQ(status.holders.size(), 3u);
  EXPECT_EQ(status.holders[1].name, "second");
  EXPECT_EQ(status.holders[1].bytes, 7u);
}

}  // namespace
}  // namespace profd::budget
