#include "daemon/source/perf/cpu_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profd::source {
namespace {

using testing::ElementsAre;

TEST(CpuList, Parses) {
  EXPECT_THAT(ParseCpuList("0\n").value(), ElementsAre(0));
  EXPECT_THAT(ParseCpuList("0-3\n").value(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ParseCpuList("0-1,5,7-8").value(), ElementsAre(0, 1, 5, 7, 8));
  EXPECT_THAT(ParseCpuList("5,3-5").value(), ElementsAre(3, 4, 5));
  EXPECT_THAT(ParseCpuList("\n").value(), ElementsAre());
}

TEST(CpuList, RefusesWhatIsNone) {
  for (const char* text : {"a", "1-", "-1", "3-1", "1,", "1,,2", "1 2", "0-4294967295", "70000"})
    EXPECT_FALSE(ParseCpuList(text)) << text;
}

TEST(CpuList, ThisMachineHasCpusOnline) {
  const auto cpus = OnlineCpus();
  ASSERT_TRUE(cpus) << cpus.error().message;
  EXPECT_FALSE(cpus->empty());
}

}  // namespace
}  // namespace profd::source
