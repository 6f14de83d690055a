#include "daemon/aggregate/counter_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bpf/shared/counters.h"

namespace profd::aggregate {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

TEST(DescribeCounters, GivesTheGrowthByKind) {
  std::vector<std::uint64_t> before(PROFD_COUNTER_MAX, 5);
  auto after = before;
  after[PROFD_COUNTER_SWITCHES] += 100;
  after[PROFD_COUNTER_OFF_CPU_RING_FULL] += 7;
  const auto report = DescribeCounters(before, after);
  EXPECT_THAT(report.lost, ElementsAre(testing::AllOf(Field(&NamedCount::name, "off_cpu_ring_full"),
                                                      Field(&NamedCount::count, 7u))));
  EXPECT_THAT(report.counters, ElementsAre(Field(&NamedCount::name, "switches")));
  EXPECT_EQ(LostBetween(before, after), 7u);
}

TEST(DescribeCounters, TakesListsOfOtherLengths) {
  const std::vector<std::uint64_t> longer(PROFD_COUNTER_MAX + 3, 1);
  EXPECT_EQ(DescribeCounters({}, longer).lost.size() +
                DescribeCounters({}, longer).counters.size() +
                DescribeCounters({}, longer).dropped.size(),
            static_cast<std::size_t>(PROFD_COUNTER_MAX));
  EXPECT_THAT(DescribeCounters(longer, longer).lost, IsEmpty());
  EXPECT_EQ(LostBetween({}, {}), 0u);
}

TEST(DescribeCounters, CountsWholeWhatWentBack) {
  std::vector<std::uint64_t> before(PROFD_COUNTER_MAX, 0);
  auto after = before;
  before[PROFD_COUNTER_CLOCKS_UNREAD] = 9;
  after[PROFD_COUNTER_CLOCKS_UNREAD] = 2;
  EXPECT_EQ(LostBetween(before, after), 2u);
}

}  // namespace
}  // namespace profd::aggregate
