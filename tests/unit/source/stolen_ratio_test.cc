#include "daemon/source/sessions/stolen_ratio.h"

#include <gtest/gtest.h>

#include "bpf/shared/control.h"

namespace profd::source {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kOne = std::uint64_t{1} << PROFD_STOLEN_SHIFT;

TEST(StolenRatio, BusyIsAllButIdleAndWaitingForDisks) {
  EXPECT_EQ(BusyNs("cpu  1 20 300 4000 50000 6 70 800 9 9\ncpu0 1 2 3\n"),
            1'197 * std::uint64_t{10'000'000});
  EXPECT_EQ(BusyNs("cpu  1 2 3 4 5 6 7 8"), 27 * std::uint64_t{10'000'000}) << "without guests";
}

TEST(StolenRatio, ADamagedLineIsNoTime) {
  for (const char* stat : {"", "cpu", "cpu ", "cpu0 1 2 3 4 5 6 7 8", "cpu  1 2 3 4 5 6 7",
                           "cpu  1 2 x 4 5 6 7 8", "cpu  1 2 -3 4 5 6 7 8"})
    EXPECT_FALSE(BusyNs(stat).has_value()) << stat;
}

TEST(StolenRatio, IsWhatWasStolenByWhatRan) {
  StolenRatio ratio;
  EXPECT_EQ(ratio.Update(100 * kSecond, 1'000 * kSecond), 0u) << "the time before is not known";
  EXPECT_EQ(ratio.Update(102 * kSecond, 1'010 * kSecond), kOne / 4) << "2 s of 8 s";
  EXPECT_EQ(ratio.Update(102 * kSecond, 1'020 * kSecond), 0u);
}

TEST(StolenRatio, AShortTimeIsJoinedToTheNextOne) {
  StolenRatio ratio;
  ratio.Update(0, 0);
  EXPECT_EQ(ratio.Update(kSecond, 2 * kSecond), kOne);
  EXPECT_EQ(ratio.Update(kSecond + kSecond / 2, 2 * kSecond + kSecond / 2), kOne) << "as before";
  EXPECT_EQ(ratio.Update(2 * kSecond, 7 * kSecond), kOne / 4) << "1 s of 5 s, all together";
}

TEST(StolenRatio, StaysWithinItsBoundsWhateverItReads) {
  StolenRatio ratio;
  ratio.Update(0, 0);
  EXPECT_EQ(ratio.Update(90 * kSecond, 10 * kSecond), StolenRatio::kMost) << "more than all";
  EXPECT_EQ(ratio.Update(189 * kSecond, 110 * kSecond), StolenRatio::kMost) << "99 of 100";
  EXPECT_EQ(ratio.Update(0, 120 * kSecond), StolenRatio::kMost) << "it goes back: as before";
  EXPECT_EQ(ratio.Update(kSecond, 125 * kSecond), kOne / 4);
}

}  // namespace
}  // namespace profd::source
