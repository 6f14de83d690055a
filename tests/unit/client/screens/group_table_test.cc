#include "client/screens/list/group_table.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "client/profile/profile_parts.h"
#include "client/profile/report/sample_filter.h"
#include "client/profile/stack_names.h"
#include "client/screens/json/screen_json.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

// Two processes of one unit, and one of none with two threads.
v1::Profile Sample() {
  v1::Profile profile;
  profile.set_target("all, then");
  profile.set_end_ns(1'000 * kMs);
  const auto process = [&](std::uint32_t pid, const char* comm, const char* unit,
                           const char* user) {
    auto& made = *profile.add_processes();
    made.set_pid(pid);
    made.set_comm(comm);
    made.set_unit(unit);
    made.set_user(user);
    made.set_uid(1000);
  };
  process(10, "nginx", "nginx.service", "www");
  process(11, "nginx", "nginx.service", "www");
  process(12, "sh\x1b[2J", "", "");
  const auto thread = [&](std::uint32_t tid, std::uint32_t of, std::uint64_t on_cpu_ms) {
    auto& made = *profile.add_threads();
    made.set_tid(tid);
    made.set_process(of);
    made.set_comm("t" + std::to_string(tid));
    made.set_end_ns(1'000 * kMs);
    made.mutable_clock()->set_on_cpu_ns(on_cpu_ms * kMs);
    made.mutable_clock()->set_blocked_iowait_ns((1'000 - on_cpu_ms) * kMs);
  };
  thread(10, 0, 100);
  thread(11, 1, 300);
  thread(12, 2, 50);
  thread(13, 2, 250);
  return profile;
}

TEST(GroupTable, SumsByUnit) {
  const auto rows = GroupRows(Sample(), GroupKey::kUnit);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "nginx.service");
  EXPECT_EQ(rows[0].processes, 2u);
  EXPECT_EQ(rows[0].threads, 2u);
  EXPECT_EQ(rows[0].on_cpu_ns, 400 * kMs);
  EXPECT_EQ(rows[0].blocked_ns, 1'600 * kMs);
  EXPECT_EQ(rows[0].elapsed_ns, 2'000 * kMs);
  EXPECT_EQ(rows[1].name, "[no unit]");
  EXPECT_EQ(rows[1].on_cpu_ns, 300 * kMs);
}

TEST(GroupTable, ProcessesAndThreadsHaveTheirNumbers) {
  const auto processes = GroupRows(Sample(), GroupKey::kProcess);
  ASSERT_EQ(processes.size(), 3u);
  EXPECT_EQ(processes[0].pid, 11u);
  EXPECT_EQ(processes[1].threads, 2u);
  EXPECT_EQ(processes[1].user, "1000") << "a user without a name";
  const auto threads = GroupRows(Sample(), GroupKey::kThread);
  ASSERT_EQ(threads.size(), 4u);
  EXPECT_EQ(threads[1].tid, 13u);
  EXPECT_EQ(threads[1].pid, 12u);
}

TEST(GroupTable, AGroupOfShortLivedProcessesCountsAsManyAsItHas) {
  v1::Profile profile = Sample();
  v1::Process& compilers = *profile.add_processes();
  compilers.set_comm("cc1");
  compilers.set_unit("nginx.service");
  compilers.set_group_size(412);
  v1::Thread& group = *profile.add_threads();
  group.set_process(3);
  group.set_comm("cc1");
  group.set_group_size(824);
  group.set_elapsed_ns(2'000 * kMs);
  group.set_end_ns(1'000 * kMs);
  group.mutable_clock()->set_on_cpu_ns(2'000 * kMs);
  const auto processes = GroupRows(profile, GroupKey::kProcess);
  ASSERT_EQ(processes.size(), 4u);
  EXPECT_EQ(processes[0].name, "cc1");
  EXPECT_EQ(processes[0].pid, 0u);
  EXPECT_EQ(processes[0].processes, 412u);
  EXPECT_EQ(processes[0].threads, 824u);
  EXPECT_EQ(processes[0].elapsed_ns, 2'000 * kMs);
  EXPECT_EQ(GroupRows(profile, GroupKey::kUnit)[0].processes, 414u);
  GroupTableOptions options{.key = GroupKey::kProcess, .width = 120, .palette = Palette()};
  const std::string text = RenderGroups(profile, options);
  EXPECT_NE(text.find("415 processes, 828 threads"), std::string::npos) << text;
  EXPECT_NE(text.find("cc1 x 412 "), std::string::npos) << text;
  options.key = GroupKey::kThread;
  EXPECT_NE(RenderGroups(profile, options).find("cc1 x 824 "), std::string::npos);
}

TEST(GroupTable, EachKeyIsWhatItIsCalled) {
  v1::Profile profile = Sample();
  profile.mutable_processes()->DeleteSubrange(1, 2);
  profile.mutable_threads()->DeleteSubrange(1, 3);
  v1::Process& process = *profile.mutable_processes(0);
  process.set_container("a container");
  process.set_cgroup("/a/cgroup");
  const std::vector<std::pair<const char*, const char*>> values{{"process", "nginx"},
                                                                {"thread", "t10"},
                                                                {"comm", "nginx"},
                                                                {"unit", "nginx.service"},
                                                                {"container", "a container"},
                                                                {"user", "www"},
                                                                {"cgroup", "/a/cgroup"}};
  for (const auto& [key, value] : values) {
    const auto rows = GroupRows(profile, ParseGroupKey(key).value());
    ASSERT_EQ(rows.size(), 1u) << key;
    EXPECT_EQ(rows[0].name, value) << key;
  }
}

TEST(GroupTable, IsSafeAndFits) {
  for (const auto key : {GroupKey::kProcess, GroupKey::kThread, GroupKey::kUser}) {
    const std::string text =
        RenderGroups(Sample(), {.key = key, .width = 80, .palette = Palette()});
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  }
  const std::string by_unit =
      RenderGroups(Sample(), {.key = GroupKey::kUnit, .width = 80, .palette = Palette()});
  EXPECT_NE(by_unit.find("0.400"), std::string::npos) << by_unit;
}

TEST(GroupTable, LongTablesSayWhatIsLeftOut) {
  v1::Profile profile = Sample();
  for (std::uint32_t i = 0; i < 100; ++i) {
    *profile.add_threads() = profile.threads(0);
    profile.mutable_threads(profile.threads_size() - 1)->set_tid(1'000 + i);
  }
  GroupTableOptions options{.key = GroupKey::kThread, .width = 80, .palette = Palette()};
  EXPECT_NE(RenderGroups(profile, options).find("... and 54 more"), std::string::npos);
  options.complete = true;
  EXPECT_EQ(RenderGroups(profile, options).find(" more"), std::string::npos);
}

TEST(GroupTable, RunningIsWorkingAndSpinning) {
  const v1::Profile profile = testing::SpinningProfile();
  const GroupTableOptions options{.key = GroupKey::kProcess, .width = 100, .palette = Palette()};
  const std::string text = RenderGroups(profile, options);
  EXPECT_NE(text.find("working   spinning   runnable"), std::string::npos) << text;
  EXPECT_NE(text.find("0.325      0.200"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(GroupsJson(profile, GroupKey::kProcess));
  EXPECT_EQ(json["rows"][0]["on_cpu_ns"], 1050 * kMs);
  EXPECT_EQ(json["rows"][0]["spinning_ns"], 400 * kMs);
}

TEST(GroupTable, StolenTimeIsAColumnWhereItShows) {
  v1::Profile profile = Sample();
  const GroupTableOptions options{.key = GroupKey::kProcess, .width = 100, .palette = Palette()};
  EXPECT_EQ(RenderGroups(profile, options).find("stolen"), std::string::npos);
  profile.mutable_threads(1)->mutable_clock()->set_stolen_spread_ns(40 * kMs);
  const std::string text = RenderGroups(profile, options);
  EXPECT_NE(text.find("running   stolen   runnable"), std::string::npos) << text;
  EXPECT_NE(text.find("0.300   ~0.040"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(GroupsJson(profile, GroupKey::kProcess));
  EXPECT_EQ(json["rows"][0]["stolen_ns"], 40 * kMs);
  EXPECT_EQ(json["rows"][0]["stolen_spread_ns"], 40 * kMs);
  EXPECT_EQ(json["rows"][1]["stolen_ns"], 0);
}

TEST(GroupTable, JsonHasEveryRow) {
  const auto json = nlohmann::json::parse(GroupsJson(Sample(), GroupKey::kProcess));
  EXPECT_EQ(json["by"], "process");
  ASSERT_EQ(json["rows"].size(), 3u);
  EXPECT_EQ(json["rows"][0]["pid"], 11);
  EXPECT_EQ(json["rows"][0]["on_cpu_ns"], 300 * kMs);
}

TEST(GroupTable, InJsonOnlyNumbersThatADoubleHoldsAreNumbers) {
  v1::Profile profile = Sample();
  profile.set_start_unix_ns(1'793'187'112'000'000'001);
  profile.mutable_threads(0)->mutable_clock()->set_on_cpu_ns(std::uint64_t{1} << 60);
  const auto json = nlohmann::json::parse(GroupsJson(profile, GroupKey::kProcess));
  EXPECT_EQ(json["start_unix_ns"], "1793187112000000001");
  EXPECT_TRUE(json["length_ns"].is_number());
  EXPECT_TRUE(json["rows"][0]["on_cpu_ns"].is_string());
}

TEST(Grouping, StandsInThePlaceOfProcesses) {
  const auto grouped = GroupBy(Sample(), GroupKey::kUnit);
  ASSERT_EQ(grouped.processes_size(), 2);
  EXPECT_EQ(ProcessName(grouped.processes(0)), "nginx.service");
  EXPECT_EQ(ProcessName(grouped.processes(1)), "[no unit]");
  ASSERT_EQ(grouped.threads_size(), 4);
  EXPECT_EQ(grouped.threads(1).process(), 0u);
  EXPECT_EQ(grouped.threads(3).process(), 1u);
  EXPECT_EQ(GroupBy(Sample(), GroupKey::kProcess).processes_size(), 3);
  EXPECT_FALSE(ParseGroupKey("pid"));
  auto labelled = Sample();
  (*labelled.mutable_processes(2)->mutable_labels())["k8s.pod.name"] = "cart-5f";
  const auto by_pod = GroupBy(labelled, ParseGroupKey("pod").value());
  ASSERT_EQ(by_pod.processes_size(), 2);
  EXPECT_EQ(ProcessName(by_pod.processes(1)), "cart-5f");
  EXPECT_EQ(ProcessName(by_pod.processes(0)), "[no pod]");
  EXPECT_EQ(ParseGroupKey("cgroup").value(), GroupKey::kCgroup);
}

TEST(GroupTable, OfAFilterTimesAreThoseOfItsSamples) {
  const auto filter = SampleFilter::Parse("function = compute and state = running");
  ASSERT_TRUE(filter);
  const auto left = filter->Apply(testing::SmallProfile());
  ASSERT_TRUE(left);
  const v1::Profile part = WhatFits(*left, filter->text());
  const auto rows = GroupRows(part, GroupKey::kThread);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "demo");
  EXPECT_EQ(rows[0].on_cpu_ns, 1'680 * kMs);
  EXPECT_EQ(rows[0].blocked_ns, 0u);
  const std::string text = RenderGroups(part, GroupTableOptions());
  EXPECT_NE(text.find("\nonly: function = compute and state = running\n"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace profd::client
