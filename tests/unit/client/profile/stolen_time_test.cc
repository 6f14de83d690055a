#include "client/profile/stolen_time.h"

#include <gtest/gtest.h>

namespace profd::client {
namespace {

TEST(StolenTimeTest, IsShownWhereItIsMoreThanHalfAPercent) {
  EXPECT_FALSE(IsShown({.ns = 0}, 0));
  EXPECT_FALSE(IsShown({.ns = 5}, 1'000));
  EXPECT_TRUE(IsShown({.ns = 6}, 1'000));
  EXPECT_EQ(FormatStolen({.ns = 5}, 1'000), "");
  EXPECT_EQ(FormatStolen({.ns = 6}, 1'000), "0.6 %");
  EXPECT_EQ(FormatStolen({.ns = 60, .spread_ns = 1}, 1'000), "~6.0 %") << "a part is an estimate";
}

TEST(StolenTimeTest, ElseItIsPartOfRunning) {
  EXPECT_EQ(RunningNs(900, {.ns = 5}, 1'000), 905u);
  EXPECT_EQ(RunningNs(900, {.ns = 6}, 1'000), 900u);
}

TEST(StolenTimeTest, IsTheSumOfWhatIsExactAndWhatIsSpread) {
  v1::ThreadClock clock;
  clock.set_stolen_exact_ns(3);
  clock.set_stolen_spread_ns(4);
  StolenTime stolen = StolenOf(clock);
  stolen += StolenOf(clock);
  EXPECT_EQ(stolen.ns, 14u);
  EXPECT_EQ(stolen.spread_ns, 8u);
}

}  // namespace
}  // namespace profd::client
