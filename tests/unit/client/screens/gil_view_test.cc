#include "client/screens/summary/gil_view.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/profile/profile_parts.h"
#include "client/text/text.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using testing::ProfileMaker;
using testing::SampleSpec;

constexpr SampleSpec Gil(v1::Gil gil, std::uint64_t ms, std::uint32_t count,
                         v1::State state = v1::STATE_ON_CPU) {
  return {.weight_ns = ms * 1'000'000,
          .state = state,
          .wait = state == v1::STATE_BLOCKED ? v1::WAIT_GIL : v1::WAIT_NONE,
          .count = count,
          .gil = gil};
}

std::string Rendered(const v1::Profile& profile, std::size_t width, bool complete = false) {
  SummaryOptions options;
  options.width = width;
  options.palette = Palette(false);
  options.complete = complete;
  return RenderGil(profile, options);
}

v1::Profile PythonProfile() {
  ProfileMaker maker;
  maker.profile().mutable_processes(0)->set_comm("python3");
  maker.profile().mutable_processes(0)->set_python("3.12.1");
  const auto main = maker.AddThread(4242, "MainThread");
  maker.Add(main, {"f"}, Gil(v1::GIL_HELD, 3'000, 300));
  maker.Add(main, {"f"}, Gil(v1::GIL_HELD, 500, 50, v1::STATE_RUNNABLE));
  maker.Add(main, {"f"}, Gil(v1::GIL_WAITED, 6'400, 640, v1::STATE_BLOCKED));
  maker.Add(main, {"f"}, Gil(v1::GIL_UNKNOWN, 100, 5));
  const auto burner = maker.AddThread(4243, "burner");
  maker.Add(burner, {"g"}, Gil(v1::GIL_NOT_HELD, 9'960, 990));
  maker.Add(burner, {"g"}, Gil(v1::GIL_HELD, 40, 4));
  const auto native = maker.AddThread(4244, "native");
  maker.Add(native, {"h"}, {.weight_ns = 10'000'000'000, .count = 990});
  return maker.Make();
}

TEST(GilViewTest, ARowAThreadThatPythonKnows) {
  EXPECT_EQ(
      Rendered(PythonProfile(), 100),
      "\nGIL of python3 (4242), CPython 3.12.1: held 35.4 %, threads waited 6.40 s for it, by "
      "samples\n"
      "thread        tid     held   running   runnable   waited   not known\n"
      "MainThread   4242   35.0 %    30.0 %      5.0 %   64.0 %      ~1.0 %\n"
      "burner       4243   ~0.4 %    ~0.4 %\n");
}

TEST(GilViewTest, TimeWithTheGilThatSpinsIsAColumn) {
  v1::Profile profile = PythonProfile();
  profile.add_rules()->set_frame_class(v1::CLASS_SPIN);
  for (int i = 0; i < profile.samples().weight_ns_size(); ++i) {
    profile.mutable_samples()->add_rule(i == 0 ? 1 : 0);
    profile.mutable_samples()->add_rule_node(i == 0 ? profile.samples().node(i) : 0);
  }
  const std::string text = Rendered(profile, 100);
  EXPECT_NE(text.find("tid     held   working   spinning   runnable"), std::string::npos) << text;
  EXPECT_NE(text.find("4242   35.0 %               30.0 %      5.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("4243   ~0.4 %    ~0.4 %\n"), std::string::npos) << text;
}

TEST(GilViewTest, ProcessesInWhichNoThreadWaitsAreALine) {
  ProfileMaker maker;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto process = maker.AddProcess(5000 + i * 100, "train");
    maker.profile().mutable_processes(static_cast<int>(process))->set_python("3.11.2");
    const auto thread = maker.AddThread(5000 + i * 100, "train", process);
    maker.Add(thread, {"f"}, Gil(v1::GIL_HELD, 1'000 + i * 500, 100));
    maker.Add(thread, {"f"}, Gil(v1::GIL_NOT_HELD, 9'000 - i * 500, 900));
  }
  EXPECT_EQ(
      Rendered(maker.Make(), 100),
      "\nGIL of train x 3, CPython 3.11.2: held 10.0 % to 20.0 % each, no thread waited for it, "
      "by samples\n");
  const std::string complete = Rendered(maker.Make(), 100, true);
  EXPECT_NE(complete.find("GIL of train (5100), CPython 3.11.2: held 15.0 %, threads waited 0 ns"),
            std::string::npos)
      << complete;
}

TEST(GilViewTest, ARestrictedProfileSaysNothingOfWaits) {
  const auto held = OnlyGil(PythonProfile());
  ASSERT_TRUE(held);
  const std::string text = Rendered(*held, 100);
  EXPECT_EQ(text.find("waited"), std::string::npos) << text;
  EXPECT_NE(text.find("held 35.4 %, by samples\n"), std::string::npos) << text;
}

TEST(GilViewTest, NothingWhereThereIsNoPython) {
  EXPECT_EQ(Rendered(testing::SmallProfile(), 80), "");
  EXPECT_EQ(Rendered(v1::Profile(), 80), "");
}

TEST(GilViewTest, WhatIsRefusedIsNamedWithTheReason) {
  v1::Profile profile = PythonProfile();
  profile.mutable_processes(0)->set_python_refused("free-threaded builds are not supported");
  EXPECT_EQ(Rendered(profile, 100),
            "\npython: PID 4242 (python3): free-threaded builds are not supported\n");
}

TEST(GilViewTest, GroupsHaveTheirSizeAndNoNumber) {
  v1::Profile profile = PythonProfile();
  profile.mutable_processes(0)->set_pid(0);
  profile.mutable_processes(0)->set_group_size(12);
  v1::Thread& burners = *profile.mutable_threads(1);
  burners.set_tid(0);
  burners.set_group_size(12);
  burners.set_elapsed_ns(burners.end_ns() - burners.begin_ns());
  const std::string text = Rendered(profile, 100);
  EXPECT_NE(text.find("GIL of python3 x 12, CPython 3.12.1"), std::string::npos) << text;
  EXPECT_NE(text.find("burner x 12          ~0.4 %"), std::string::npos) << text;
  profile.mutable_processes(0)->set_python_refused("not supported");
  EXPECT_EQ(Rendered(profile, 100), "\npython: python3 x 12: not supported\n");
}

TEST(GilViewTest, ManyProcessesAndThreadsAreCutAndCounted) {
  ProfileMaker maker;
  for (std::uint32_t i = 0; i < 30; ++i) {
    const auto process = maker.AddProcess(5000 + i * 100, "worker");
    for (std::uint32_t k = 0; k < 10; ++k) {
      const auto thread = maker.AddThread(5000 + i * 100 + k, "t\x1b[31m", process);
      maker.Add(thread, {"f"}, Gil(v1::GIL_HELD, 10, 1));
    }
  }
  const v1::Profile profile = maker.Make();
  const std::string text = Rendered(profile, 80);
  EXPECT_NE(text.find("and 2 more threads: held 20.0 ms, waited 0 ns\n"), std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("\nand 26 more Python processes: GILs held 2.60 s, waited for 0 ns\n"))
      << text;
  const std::string complete = Rendered(profile, 80, true);
  EXPECT_EQ(complete.find("more"), std::string::npos);
  std::istringstream lines(complete);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(DisplayWidth(line), 80u) << line;
    EXPECT_EQ(SafeText(line), line);
  }
}

}  // namespace
}  // namespace profd::client
