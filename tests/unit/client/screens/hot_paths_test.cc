#include "client/screens/summary/hot_paths.h"

#include <gtest/gtest.h>

#include <array>

#include "client/text/text.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using testing::Blocked;
using testing::ProfileMaker;
using testing::Running;
using testing::SampleSpec;

constexpr std::array<std::uint32_t, 1> kFirst{0};

std::vector<std::string> Texts(const v1::Profile& profile, std::size_t limit = 6) {
  std::vector<std::string> texts;
  for (const HotPath& path : HotPaths(profile, kFirst, limit)) texts.push_back(PathText(path, 200));
  return texts;
}

TEST(HotPathsTest, OneWayIsOnePath) {
  ProfileMaker maker;
  maker.Add(maker.AddThread(4242, "t"), {"_start", "main", "run", "compute"}, Running(100));
  EXPECT_EQ(Texts(maker.Make()), std::vector<std::string>{"main > run > compute"});
}

TEST(HotPathsTest, PathsPartWhereTheTimeDoes) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "t");
  maker.Add(thread, {"main", "run", "a", "deep"}, Running(60));
  maker.Add(thread, {"main", "run", "b"}, Running(40));
  const std::vector<std::string> expected{"main > run > a > deep", "main > run > b"};
  EXPECT_EQ(Texts(maker.Make()), expected);
}

TEST(HotPathsTest, StatesAndReasonsAreNeverMixed) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "t");
  maker.Add(thread, {"main", "f"}, Running(50));
  maker.Add(thread, {"main", "f"}, Blocked(v1::WAIT_LOCK, 30));
  maker.Add(thread, {"main", "f"}, Blocked(v1::WAIT_IO, 20));
  const auto paths = HotPaths(maker.Make(), kFirst, 6);
  ASSERT_EQ(paths.size(), 3u);
  EXPECT_EQ(paths[0].state, v1::STATE_ON_CPU);
  EXPECT_EQ(paths[1].wait, v1::WAIT_LOCK);
  EXPECT_EQ(paths[2].wait, v1::WAIT_IO);
}

TEST(HotPathsTest, ManySmallLeavesAreTheirCallersPath) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "t");
  for (int i = 0; i < 50; ++i)
    maker.Add(thread, {"main", "interpret", "op_" + std::to_string(i)}, Running(2));
  EXPECT_EQ(Texts(maker.Make()), std::vector<std::string>{"main > interpret > ..."});
}

TEST(HotPathsTest, PartsNeverAddUpToMoreThanTheWhole) {
  const v1::Profile profile = testing::LargeProfile(2'000);
  std::uint64_t total = 0;
  for (int i = 0; i < profile.samples().weight_ns_size(); ++i)
    if (profile.samples().thread(i) == 0) total += profile.samples().weight_ns(i);
  for (const std::size_t limit : {1u, 3u, 6u, 40u}) {
    std::uint64_t shown = 0;
    const auto paths = HotPaths(profile, kFirst, limit);
    EXPECT_LE(paths.size(), limit);
    for (const HotPath& path : paths) shown += path.ns;
    EXPECT_GT(shown, 0u);
    EXPECT_LE(shown, total);
  }
}

TEST(HotPathsTest, AWaitingThreadShowsItsSystemCallAndNoScheduler) {
  ProfileMaker maker;
  maker.Add(maker.AddThread(4242, "t"),
            {"main", "pthread_cond_wait", "entry_SYSCALL_64_after_hwframe_[k]", "do_syscall_64_[k]",
             "__x64_sys_futex_[k]", "do_futex_[k]", "futex_wait_[k]", "schedule_[k]"},
            Blocked(v1::WAIT_LOCK, 100));
  EXPECT_EQ(Texts(maker.Make()), std::vector<std::string>{"main > pthread_cond_wait > futex"});
}

TEST(HotPathsTest, ARunningThreadShowsWhatTheKernelDoesForIt) {
  ProfileMaker maker;
  maker.Add(maker.AddThread(4242, "t"),
            {"main", "write", "entry_SYSCALL_64_after_hwframe_[k]", "do_syscall_64_[k]",
             "__x64_sys_write_[k]", "vfs_write_[k]"},
            Running(100));
  EXPECT_EQ(Texts(maker.Make()), std::vector<std::string>{"main > write > vfs_write"});
}

TEST(HotPathsTest, APreemptedThreadShowsItsOwnCode) {
  ProfileMaker maker;
  maker.Add(maker.AddThread(4242, "t"),
            {"main", "spin", "asm_sysvec_apic_timer_interrupt_[k]", "irqentry_exit_[k]",
             "schedule_[k]", "__schedule_[k]"},
            {.weight_ns = 100, .state = v1::STATE_RUNNABLE});
  EXPECT_EQ(Texts(maker.Make()), std::vector<std::string>{"main > spin"});
}

TEST(HotPathsTest, WhatSpinsEndsAtTheFrameThatSaysSo) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "t");
  SampleSpec spec = Running(30);
  spec.rule = maker.AddRule(v1::CLASS_GPU_WAIT, "cuda.*");
  maker.Add(thread, {"main", "cudaDeviceSynchronize", "driver", "poll"}, spec);
  maker.Add(thread, {"main", "cudaDeviceSynchronize", "driver", "clock_gettime"}, spec);
  spec.rule = maker.AddRule(v1::CLASS_WORK, "cuda.*");
  maker.Add(thread, {"main", "cudaLaunchKernel", "driver"}, spec);
  const std::vector<std::string> expected{"main > cudaDeviceSynchronize",
                                          "main > cudaLaunchKernel > driver"};
  EXPECT_EQ(Texts(maker.Make()), expected);
}

TEST(HotPathsTest, OnePathAloneKeepsItsCallers) {
  ProfileMaker maker;
  maker.Add(maker.AddThread(4242, "t"),
            {"main", "interpret", "<module> (train.py:8)", "step (train.py:3)", "call_in_a_library",
             "cudaDeviceSynchronize"},
            Running(100));
  const auto paths = HotPaths(maker.Make(), kFirst, 6);
  ASSERT_EQ(paths.size(), 1u);
  EXPECT_EQ(PathText(paths[0], 75),
            "<module> (train.py:8) > step (train.py:3) > ... > cudaDeviceSynchronize");
}

TEST(HotPathsTest, TimeWithoutAStackIsNotHidden) {
  ProfileMaker maker;
  maker.Add(maker.AddThread(4242, "t"), std::vector<std::string>{}, Blocked(v1::WAIT_OTHER, 100));
  EXPECT_EQ(Texts(maker.Make()), std::vector<std::string>{"(no stack)"});
}

HotPath Path(std::vector<std::string> frames) {
  HotPath path;
  path.frames = std::move(frames);
  return path;
}

TEST(PathTextTest, StacksWithNothingInCommonAreNotCalledNone) {
  HotPath path;
  EXPECT_EQ(PathText(path, 80), "(no stack)");
  path.goes_on = true;
  EXPECT_EQ(PathText(path, 80), "(various)");
}

TEST(PathTextTest, LeavesTheMiddleOut) {
  const HotPath path = Path({"main", "alpha", "beta", "gamma", "delta"});
  EXPECT_EQ(PathText(path, 80), "main > alpha > beta > gamma > delta");
  EXPECT_EQ(PathText(path, 34), "main > ... > beta > gamma > delta");
  EXPECT_EQ(PathText(path, 20), "main > ... > delta");
  EXPECT_EQ(PathText(path, 12), "... > delta");
  EXPECT_EQ(PathText(path, 8), "... > ..");
}

TEST(PathTextTest, CallersThatAllPathsShareGoFirst) {
  HotPath path = Path({"main", "alpha", "beta", "gamma", "delta"});
  path.fork = 2;
  EXPECT_EQ(PathText(path, 80), "main > alpha > beta > gamma > delta");
  EXPECT_EQ(PathText(path, 34), "beta > gamma > delta");
  EXPECT_EQ(PathText(path, 18), "beta > ... > delta");
}

TEST(PathTextTest, TheInnermostPythonFrameStays) {
  HotPath path = Path({"main (a.py:1)", "step (a.py:2)", "f.<locals>.<listcomp> (a_long_name.py:3)",
                       "Wait", "cond_wait", "__cond_wait", "futex"});
  path.python = {true, true, true, false, false, false, false};
  EXPECT_EQ(PathText(path, 200),
            "main (a.py:1) > step (a.py:2) > f.<locals>.<listcomp> (a_long_name.py:3) > Wait > "
            "cond_wait > __cond_wait > futex");
  EXPECT_EQ(PathText(path, 100),
            "main (a.py:1) > step (a.py:2) > f.<locals>.<listcomp> (a_long_name.py:3) > Wait > "
            "cond_wait > futex");
  EXPECT_EQ(PathText(path, 70),
            "step (a.py:2) > f.<locals>.<listcomp> (a_long_name.py:3) > ... > futex");
  EXPECT_EQ(PathText(path, 55), "f.<locals>.<listcomp> (a_long_name.py:3) > ... > futex");
  EXPECT_EQ(PathText(path, 30), "main (a.py:1) > ... > futex");
}

TEST(HotPathsTest, TheForkIsTheLastCommonFrame) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "t");
  maker.Add(thread, {"main", "serve", "a"}, Running(50));
  maker.Add(thread, {"main", "serve", "b", "c"}, Blocked(v1::WAIT_LOCK, 30));
  maker.Add(thread, std::vector<std::string>{}, Blocked(v1::WAIT_OTHER, 20));
  for (const HotPath& path : HotPaths(maker.Make(), kFirst, 6)) EXPECT_EQ(path.fork, 1u);
}

TEST(PathTextTest, NeverWiderThanRequested) {
  const HotPath path =
      Path({"主函数", "std::vector<int, std::allocator<int>>::push_back", "e\xcc\x81"});
  for (std::size_t width = 0; width < 80; ++width)
    EXPECT_LE(DisplayWidth(PathText(path, width)), std::max<std::size_t>(width, 6)) << width;
}

TEST(PathTextTest, RecursionAndTemplateArgumentsAreShortened) {
  EXPECT_EQ(PathText(Path({"main", "fib", "fib", "fib", "add"}), 80), "main > fib > add");
  EXPECT_EQ(PathText(Path({"main", "std::vector<int, std::allocator<int> >::push_back"}), 80),
            "main > std::vector<...>::push_back");
  EXPECT_EQ(PathText(Path({"bool operator<<a::very::long::name::indeed>(x)"}), 80),
            "bool operator<<a::very::long::name::indeed>(x)");
}

TEST(PathTextTest, WhatEveryThreadStartsWithIsNotShownUnlessItIsAll) {
  EXPECT_EQ(PathText(Path({"clone3", "start_thread", "run"}), 80), "run");
  EXPECT_EQ(PathText(Path({"clone3", "start_thread"}), 80), "start_thread");
}

}  // namespace
}  // namespace profd::client
