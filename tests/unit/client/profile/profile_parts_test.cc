#include "client/profile/profile_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "client/format/exporter.h"
#include "client/profile/check_profile.h"
#include "client/profile/report/sample_filter.h"
#include "client/profile/stack_names.h"
#include "client/profile/stack_tree.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using ::testing::ElementsAre;
using testing::FrameFromText;
using testing::ProfileMaker;

v1::Profile TwoProcesses() {
  ProfileMaker maker;
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

TEST(ThreadFilter, KeepsPathsAndNumbersWakeUpsAgain) {
  v1::Profile profile = testing::WaitingProfile();
  // The worker comes first.
  profile.mutable_threads()->SwapElements(0, 1);
  for (std::uint32_t& thread : *profile.mutable_samples()->mutable_thread()) thread = 1 - thread;
  for (v1::WakeUps& wake_ups : *profile.mutable_wake_ups()) wake_ups.set_thread(1);
  v1::WakeUps& of_worker = *profile.add_wake_ups();
  of_worker.set_thread(0);
  of_worker.set_waits(7);

  const auto main = OnlyThreads(profile, *ThreadFilter::Parse("tid=4242"));
  ASSERT_TRUE(main);
  EXPECT_TRUE(CheckProfile(*main));
  EXPECT_EQ(main->paths_size(), profile.paths_size());
  EXPECT_EQ(main->samples().path(3), profile.samples().path(3));
  EXPECT_NE(main->samples().path(3), 0u);
  ASSERT_EQ(main->wake_ups_size(), 2);
  EXPECT_EQ(main->wake_ups(0).thread(), 0u);
  EXPECT_EQ(main->wake_ups(0).waits(), 83u);

  const auto worker = OnlyThreads(profile, *ThreadFilter::Parse("tid=4243"));
  ASSERT_TRUE(worker);
  EXPECT_TRUE(CheckProfile(*worker));
  ASSERT_EQ(worker->samples().path_size(), 2);
  EXPECT_EQ(worker->paths(static_cast<int>(worker->samples().path(1)) - 1).kind(), v1::PATH_DISK);
  ASSERT_EQ(worker->wake_ups_size(), 1);
  EXPECT_EQ(worker->wake_ups(0).waits(), 7u);
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

ProfileMaker Contenders() {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  maker.Add(thread, {"main", "f"}, {.weight_ns = 1'000'000, .gil = v1::GIL_HELD});
  maker.Add(thread, {"main", "f"},
            {.weight_ns = 2'000'000, .state = v1::STATE_RUNNABLE, .gil = v1::GIL_HELD});
  maker.Add(thread, {"main", "g"}, {.weight_ns = 4'000'000, .gil = v1::GIL_NOT_HELD});
  maker.Add(thread, {"main", "f"},
            {.weight_ns = 8'000'000,
             .state = v1::STATE_BLOCKED,
             .wait = v1::WAIT_GIL,
             .gil = v1::GIL_WAITED});
  maker.Add(thread, {"main", "h"}, {.weight_ns = 16'000'000, .count = 3, .gil = v1::GIL_UNKNOWN});
  maker.Add(thread, {"main", "h"}, {.weight_ns = 32'000'000});
  maker.profile().mutable_processes(0)->set_python("3.12.1");
  return maker;
}

std::string Folded(const v1::Profile& profile) {
  std::ostringstream out;
  EXPECT_TRUE((*ExporterByName("folded"))->write(profile, {}, out));
  return out.str();
}

TEST(Gil, OnlyTimeWithItIsKept) {
  const v1::Profile profile = Contenders().Make();
  const auto held = OnlyGil(profile);
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_TRUE(held->only_gil());
  EXPECT_EQ(Folded(*held),
            "demo (4242);main;f 1000\n"
            "demo (4242);main;f;[runnable:gil-holder] 2000\n");
  ASSERT_EQ(held->counters_size(), 1);
  EXPECT_EQ(held->counters(0).count(), 3u) << "the GIL of these is unknown";
  EXPECT_EQ(held->threads(0).clock().on_cpu_ns(), profile.threads(0).clock().on_cpu_ns());
  const auto again = OnlyGil(*held);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->SerializeAsString(), held->SerializeAsString());
}

TEST(Gil, WhereNoThreadHeldItTheReasonIsSaid) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  maker.Add(thread, {"main"});
  const auto native = OnlyGil(maker.Make());
  ASSERT_FALSE(native);
  EXPECT_EQ(native.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(native.error().message, "no data: nothing is known of a Python interpreter there");
  maker.profile().mutable_processes(0)->set_python("3.12.1");
  EXPECT_EQ(OnlyGil(maker.Make()).error().message, "no data: no sample has the GIL");
  maker.profile().mutable_processes(0)->set_python_refused("free-threaded\x1b");
  EXPECT_EQ(OnlyGil(maker.Make()).error().message, "no data: demo (4242): free-threaded?");
}

TEST(Gil, ADamagedProfileIsRefused) {
  v1::Profile profile = Contenders().Make();
  profile.mutable_samples()->add_gil(v1::GIL_HELD);
  EXPECT_EQ(OnlyGil(profile).error().code, ErrorCode::kCorrupt);
}

v1::Frame Interpreter(const std::string& name) {
  v1::Frame frame = FrameFromText(name);
  frame.set_interpreter(true);
  return frame;
}

std::vector<std::string> Names(const v1::Profile& profile) {
  const auto tree = StackTree::Build(profile, {}, StateFrames::kNone, StackRoots::kProcesses);
  EXPECT_TRUE(tree);
  std::vector<std::string> names;
  for (const std::uint32_t i : tree->ByName()) names.push_back(tree->labels[tree->nodes[i].label]);
  return names;
}

TEST(InterpreterFrames, WhatStoodOnThemStandsOnWhatWasBelow) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  maker.AddFrames(thread,
                  {FrameFromText("start"), Interpreter("main"), Interpreter("eval"),
                   FrameFromText("f"), Interpreter("call"), FrameFromText("read")},
                  {.weight_ns = 5});
  maker.AddFrames(thread, {FrameFromText("start"), Interpreter("main")}, {.weight_ns = 7});
  maker.AddFrames(thread, {Interpreter("main")}, {.weight_ns = 1});
  const v1::Profile profile = maker.Make();
  const auto shown = WithoutInterpreterFrames(profile);
  ASSERT_TRUE(shown);
  EXPECT_THAT(Names(*shown), ElementsAre("all", "demo (4242)", "[no stack]", "start", "f", "read"));
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  for (const auto weight : profile.samples().weight_ns()) before += weight;
  for (const auto weight : shown->samples().weight_ns()) after += weight;
  EXPECT_EQ(before, after);
  EXPECT_EQ(Names(profile).size(), 9u) << "the profile itself is as it was";
}

TEST(InterpreterFrames, WhichFrameDecidedIsTheSame) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  testing::SampleSpec spec;
  spec.rule = maker.AddRule(v1::CLASS_SPIN, "wait");
  maker.AddFrames(thread,
                  {Interpreter("main"), FrameFromText("f"), Interpreter("eval"),
                   FrameFromText("wait"), FrameFromText("pause")},
                  spec);
  const auto shown = WithoutInterpreterFrames(maker.Make());
  ASSERT_TRUE(shown);
  ASSERT_TRUE(CheckProfile(*shown));
  const auto node = static_cast<int>(shown->samples().rule_node(0)) - 1;
  EXPECT_EQ(shown->frames(static_cast<int>(shown->nodes(node).frame())).name(), "wait");
}

TEST(InterpreterFrames, StacksOnPathsLoseThem) {
  ProfileMaker maker;
  const auto path = maker.AddPath(
      {{.thread = maker.AddPathThread(2, "worker"), .stack = {"start", "eval", "f (a.py:1)"}}});
  maker.AddFrames(maker.AddThread(1, "t"), {Interpreter("main"), FrameFromText("wait")},
                  testing::Blocked(v1::WAIT_LOCK, 5, 1, path));
  for (v1::Frame& frame : *maker.profile().mutable_frames())
    if (frame.name() == "eval") frame.set_interpreter(true);
  const auto shown = WithoutInterpreterFrames(maker.Make());
  ASSERT_TRUE(shown);
  ASSERT_TRUE(CheckProfile(*shown));
  std::vector<std::string> names;
  for (std::uint32_t node = shown->paths(0).node(); node != 0;) {
    const v1::StackNode& at = shown->nodes(static_cast<int>(node) - 1);
    names.push_back(shown->frames(static_cast<int>(at.frame())).name());
    node = at.parent();
  }
  EXPECT_THAT(names, ElementsAre("f", "start"));
}

TEST(InterpreterFrames, WithoutAnyThereIsNothingToChange) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  maker.AddFrames(thread, {FrameFromText("start"), FrameFromText("f")}, {.weight_ns = 5});
  EXPECT_FALSE(WithoutInterpreterFrames(maker.Make()));
}

TEST(InterpreterFrames, ADamagedProfileIsLeftAlone) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  maker.AddFrames(thread, {Interpreter("main")}, {.weight_ns = 5});
  v1::Profile profile = maker.Make();
  profile.mutable_nodes(0)->set_parent(77);
  EXPECT_FALSE(WithoutInterpreterFrames(profile));
}

TEST(WhatFits, HasThreadsWithSamplesAndNoClocks) {
  v1::Profile profile = TwoProcesses();
  for (v1::Thread& thread : *profile.mutable_threads()) thread.mutable_clock()->set_on_cpu_ns(9);
  profile.mutable_switches();
  const auto filter = SampleFilter::Parse("function = b");
  ASSERT_TRUE(filter);
  const auto left = filter->Apply(profile);
  ASSERT_TRUE(left);
  v1::Profile part = WhatFits(*left, filter->text());
  EXPECT_TRUE(CheckProfile(part));
  ASSERT_EQ(part.threads_size(), 1);
  EXPECT_EQ(part.threads(0).tid(), 8u);
  EXPECT_TRUE(part.threads(0).clock_missing());
  EXPECT_EQ(part.threads(0).clock().on_cpu_ns(), 0u);
  ASSERT_EQ(part.processes_size(), 1);
  EXPECT_EQ(part.processes(0).pid(), 7u);
  EXPECT_FALSE(part.has_switches());
  EXPECT_EQ(part.filter(), "function = b");
  EXPECT_EQ(TitleOf(part), "other (7), only function = b");
  part = WhatFits(part, "state = blocked");
  EXPECT_EQ(part.filter(), "(function = b) and (state = blocked)");
}

}  // namespace
}  // namespace profd::client
