#include "client/profile/thread_filter.h"

#include <gtest/gtest.h>

#include "client/profile/check_profile.h"
#include "tests/support/profile_maker.h"

namespace profd::client {
namespace {

v1::Profile TwoProcesses() {
  testing::ProfileMaker maker;
  const auto other = maker.AddProcess(7, "other");
  maker.Add(maker.AddThread(4242, "demo"), {"a"}, {.weight_ns = 1});
  maker.Add(maker.AddThread(8, "worker", other), {"b"}, {.weight_ns = 2, .gil = v1::GIL_HELD});
  maker.Add(maker.AddThread(7, "other", other), {"c"}, {.weight_ns = 4});
  return maker.Make();
}

std::uint64_t Left(const std::string& text) {
  const auto filter = ThreadFilter::Parse(text);
  EXPECT_TRUE(filter) << text;
  const auto profile = OnlyThreads(TwoProcesses(), *filter);
  EXPECT_TRUE(profile) << text;
  if (!profile) return 0;
  EXPECT_TRUE(CheckProfile(*profile));
  std::uint64_t ns = 0;
  for (const std::uint64_t weight : profile->samples().weight_ns()) ns += weight;
  return ns;
}

TEST(ThreadFilter, KeepsThreadsThatFit) {
  EXPECT_EQ(Left(""), 7u);
  EXPECT_EQ(Left("pid=7"), 6u);
  EXPECT_EQ(Left("tid=8"), 2u);
  EXPECT_EQ(Left("comm=demo"), 1u);
  EXPECT_EQ(Left("comm=other,thread=other"), 4u);
}

TEST(ThreadFilter, KnowsWhatTheHistoryKnows) {
  v1::Profile profile = TwoProcesses();
  v1::Process& other = *profile.mutable_processes(1);
  other.set_executable("/usr/sbin/nginx");
  other.set_cgroup("cgroup");
  other.set_container("container");
  other.set_unit("unit.service");
  other.set_user("www");
  other.set_uid(33);
  for (const char* text :
       {"exe=/usr/sbin/nginx", "exe=nginx", "cgroup=cgroup", "container=container", "unit=unit",
        "unit=unit.service", "user=www", "user=33", "unit=unit,user=www"}) {
    const auto filter = ThreadFilter::Parse(text);
    ASSERT_TRUE(filter) << text;
    const auto only = OnlyThreads(profile, *filter);
    ASSERT_TRUE(only) << text;
    ASSERT_EQ(only->processes_size(), 1) << text;
    EXPECT_EQ(only->processes(0).pid(), 7u) << text;
  }
  for (const char* text : {"exe=sbin/nginx", "cgroup=container", "container=unit.service",
                           "unit=cgroup", "user=unit", "unit=unit,user=root"})
    EXPECT_FALSE(OnlyThreads(profile, *ThreadFilter::Parse(text))) << text;
}

TEST(ThreadFilter, LeavesOutOtherProcessesAndThreads) {
  const auto profile = OnlyThreads(TwoProcesses(), *ThreadFilter::Parse("tid=8"));
  ASSERT_TRUE(profile);
  ASSERT_EQ(profile->processes_size(), 1);
  ASSERT_EQ(profile->threads_size(), 1);
  EXPECT_EQ(profile->processes(0).pid(), 7u);
  EXPECT_EQ(profile->samples().thread(0), 0u);
  EXPECT_EQ(profile->samples().gil(0), v1::GIL_HELD);
}

TEST(ThreadFilter, SaysWhatIsWrong) {
  for (const char* text : {"pid", "pid=", "pid=x", "pid=0", "name=x", "comm=", "comm=a,,pid=1"})
    EXPECT_EQ(ThreadFilter::Parse(text).ok(), false) << text;
  const auto none = OnlyThreads(TwoProcesses(), *ThreadFilter::Parse("pid=9"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace profd::client
