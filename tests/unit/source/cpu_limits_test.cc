#include "daemon/source/procfs/cpu_limits.h"

#include <gtest/gtest.h>

#include "tests/unit/source/fake_proc.h"

namespace profd::source {
namespace {

TEST(CpuLimits, AffinityIsThatOfTheStatus) {
  const FakeProc proc;
  proc.Write("7/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-3,8\n");
  proc.Write("8/status", "Name:\tx\n");
  EXPECT_EQ(AllowedCpus(proc.proc(), 7), 5u);
  EXPECT_FALSE(AllowedCpus(proc.proc(), 8));
  EXPECT_FALSE(AllowedCpus(proc.proc(), 9));
}

TEST(CpuLimits, TheLowestQuotaOfACgroupAndThoseAboveItCounts) {
  const FakeProc cgroups;
  cgroups.Write("a.slice/cpu.max", "150000 100000\n");
  cgroups.Write("a.slice/cpu.stat",
                "usage_usec 5\nnr_periods 40\nnr_throttled 4\nthrottled_usec 250\n");
  cgroups.Write("a.slice/b.service/cpu.max", "400000 100000\n");
  cgroups.Write("a.slice/b.service/cpu.stat", "nr_periods 9\nnr_throttled 9\n");
  cgroups.Write("a.slice/b.service/c/cpu.max", "max 100000\n");
  const auto quota = QuotaOf(cgroups.proc(), "/a.slice/b.service/c");
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->cgroup, "/a.slice");
  EXPECT_DOUBLE_EQ(quota->cpus, 1.5);
  EXPECT_EQ(quota->periods, 40u);
  EXPECT_EQ(quota->throttled, 4u);
  EXPECT_EQ(quota->throttled_ns, 250'000u);
}

TEST(CpuLimits, WithoutAQuotaThereIsNone) {
  const FakeProc cgroups;
  cgroups.Write("a.slice/cpu.max", "max 100000\n");
  cgroups.Write("odd.slice/cpu.max", "much\n");
  EXPECT_FALSE(QuotaOf(cgroups.proc(), "/a.slice"));
  EXPECT_FALSE(QuotaOf(cgroups.proc(), "/odd.slice"));
  EXPECT_FALSE(QuotaOf(cgroups.proc(), "/gone.slice"));
  EXPECT_FALSE(QuotaOf(cgroups.proc(), "/"));
  EXPECT_FALSE(QuotaOf(cgroups.proc(), ""));
}

TEST(CpuLimits, NoPathLeadsOutOfTheHierarchy) {
  const FakeProc cgroups;
  cgroups.Write("a.slice/cpu.max", "150000 100000\n");
  EXPECT_FALSE(QuotaOf(cgroups.proc(), "/x/../a.slice"));
}

}  // namespace
}  // namespace profd::source
