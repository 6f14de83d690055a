#include "client/screens/report/steps_view.h"

#include <gtest/gtest.h>

#include "client/profile/steps/named_calls.h"
#include "client/profile/steps/program_steps.h"
#include "client/screens/report/calls_view.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/screens/golden.h"

namespace profd::client {
namespace {

// A training loop of 12 steps; a batch comes late in the sixth. `samples`: of each line of a step.
v1::Profile Training(int samples) {
  testing::ProfileMaker maker;
  const std::uint32_t thread = maker.AddThread(4242, "python");
  for (int step = 0; step < 12; ++step) {
    const auto at = [&](int line, const std::string& callee, const testing::SampleSpec& spec) {
      for (int i = 0; i < samples; ++i)
        maker.Add(
            thread,
            {"<module> (train.py:50)", "train (train.py:" + std::to_string(line) + ")", callee},
            spec);
    };
    at(24, "load_batch (data.py:3)", testing::Blocked(v1::WAIT_IO, 10));
    if (step == 5)
      for (int i = 0; i < 7; ++i)
        at(24, "load_batch (data.py:3)", testing::Blocked(v1::WAIT_IO, 10));
    at(25, "forward (net.py:9)", testing::Running(10));
    at(26, "backward (net.py:19)", testing::Running(10));
    at(27, "update (net.py:29)", testing::Running(10));
  }
  v1::Profile profile = maker.Make();
  for (v1::Frame& frame : *profile.mutable_frames()) {
    if (frame.name() == "load_batch") frame.set_phase(v1::PHASE_DATA);
    if (frame.name() == "forward") frame.set_phase(v1::PHASE_FORWARD);
    if (frame.name() == "backward") frame.set_phase(v1::PHASE_BACKWARD);
    if (frame.name() == "update") frame.set_phase(v1::PHASE_OPTIMIZER);
  }
  return profile;
}

StepTable TableOf(const v1::Profile& profile) {
  const auto steps = FindProgramSteps(profile, {});
  EXPECT_TRUE(steps);
  return StepsOf(*steps, profile);
}

TEST(StepsViewTest, MatchesItsGolden) {
  const v1::Profile profile = Training(3);
  for (const std::size_t width : {80u, 120u}) {
    ReportViewOptions options;
    options.width = width;
    ExpectGolden(RenderSteps(profile, TableOf(profile), {}, options),
                 "report_steps_" + std::to_string(width) + ".txt");
  }
}

TEST(StepsViewTest, FewSamplesAreSaid) {
  const v1::Profile profile = Training(1);
  const std::string text = RenderSteps(profile, TableOf(profile), {}, {});
  EXPECT_NE(text.find("~10 steps: ~40.0 ms median"), std::string::npos) << text;
  EXPECT_NE(text.find("single steps are not"), std::string::npos) << text;
}

TEST(StepsViewTest, TheSheetHasARowAStep) {
  const v1::Profile profile = Training(1);
  const std::string csv = SheetCsv(SheetOf(TableOf(profile), profile));
  EXPECT_EQ(csv.substr(0, csv.find('\n')),
            "step,begin_ns,ns,reach_ns,data ns,forward ns,backward ns,optimizer ns,line 24 ns,"
            "line 25 ns,line 26 ns,line 27 ns");
  EXPECT_NE(csv.find("\n1,35000000,40000000,10000000,10000000,10000000,10000000,10000000,10000000,"
                     "10000000,10000000,10000000\n"),
            std::string::npos)
      << csv;
}

TEST(CallsViewTest, WhatIsMissingIsSaidAndNothingIsCalledExactThen) {
  v1::Profile profile = testing::SteppedProfile();
  const auto render = [&profile] { return RenderCalls(profile, NamedCallsOf(profile), {}, {}); };
  EXPECT_NE(render().find("calls that the program names, exact; self"), std::string::npos);
  EXPECT_EQ(render().find("missing"), std::string::npos);
  v1::NamedCount& lost = *profile.add_lost();
  lost.set_name("steps_beyond_share");
  lost.set_count(7);
  EXPECT_EQ(render().find("exact"), std::string::npos);
  EXPECT_NE(render().find("7 events of calls are missing"), std::string::npos);
}

}  // namespace
}  // namespace profd::client
