#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/profile/check_profile.h"
#include "client/profile/steps/step_loop.h"
#include "client/profile/steps/step_table.h"
#include "tests/support/profile_maker.h"

namespace profd::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kMs = 1'000'000;

// Samples of one thread, 10 ms apart. Phases are set by the names of functions.
class StepsTest : public ::testing::Test {
 protected:
  StepsTest() : main_(maker_.AddThread(4242, "python")) {}

  // A sample on a line of `train`, in a function that it calls.
  void At(std::uint32_t thread, int line, const std::string& callee,
          const testing::SampleSpec& spec = {}) {
    maker_.Add(thread,
               {"<module> (train.py:50)", "train (train.py:" + std::to_string(line) + ")", callee},
               spec);
  }
  // `slow`: the backward pass takes so many samples.
  void Step(std::uint32_t thread, int slow = 1) {
    At(thread, 24, "load_batch (data.py:3)");
    At(thread, 25, "forward (net.py:9)");
    for (int i = 0; i < slow; ++i) At(thread, 26, "backward (net.py:19)");
    At(thread, 27, "update (net.py:29)");
  }
  [[nodiscard]] v1::Profile Make() {
    v1::Profile profile = maker_.Make();
    for (v1::Frame& frame : *profile.mutable_frames()) {
      if (frame.name() == "load_batch") frame.set_phase(v1::PHASE_DATA);
      if (frame.name() == "forward") frame.set_phase(v1::PHASE_FORWARD);
      if (frame.name() == "backward") frame.set_phase(v1::PHASE_BACKWARD);
      if (frame.name() == "update") frame.set_phase(v1::PHASE_OPTIMIZER);
    }
    profile.mutable_samples()->mutable_edges()->Resize(profile.samples().node_size(), 0);
    EXPECT_TRUE(CheckProfile(profile));
    return profile;
  }
  [[nodiscard]] static std::string FunctionOf(const v1::Profile& profile,
                                              std::string_view function = "") {
    const auto loop = FindStepLoop(profile, function);
    return loop ? loop->function : loop.error().message;
  }

  testing::ProfileMaker maker_;
  const std::uint32_t main_;
};

TEST_F(StepsTest, ALineThatFallsBackBeginsAStep) {
  for (int i = 0; i < 12; ++i) Step(main_);
  const v1::Profile profile = Make();
  const auto loop = FindStepLoop(profile, "");
  ASSERT_TRUE(loop) << loop.error().message;
  EXPECT_EQ(loop->function, "train (train.py)");
  EXPECT_EQ(loop->thread, main_);
  ASSERT_EQ(loop->steps(), 10u) << "the first and the last one are not seen whole";
  EXPECT_EQ(loop->SamplesPerStep(), 4);
  EXPECT_TRUE(loop->rough());
  const std::uint64_t start_ns = profile.start_ns();
  for (std::size_t i = 0; i < loop->borders.size(); ++i) {
    EXPECT_EQ(loop->borders[i].time_ns, start_ns + (40 * (i + 1) - 5) * kMs);
    EXPECT_EQ(loop->borders[i].reach_ns, 5 * kMs);
  }
}

TEST_F(StepsTest, OffTheCpuASampleStandsForAnInterval) {
  for (int i = 0; i < 12; ++i) {
    At(main_, 24, "load_batch (data.py:3)");
    At(main_, 25, "update (net.py:29)", testing::Blocked(v1::WAIT_IO, 30, 3));
  }
  const v1::Profile profile = Make();
  const auto loop = FindStepLoop(profile, "");
  ASSERT_TRUE(loop) << loop.error().message;
  // The wait begins at 10 ms and has three points: it is longer than one period.
  const std::uint64_t gap_ns = 30 * kMs - profile.off_cpu_period_ns();
  EXPECT_EQ(loop->borders[0].time_ns, profile.start_ns() + 40 * kMs - gap_ns / 2);
  EXPECT_EQ(loop->borders[0].reach_ns, gap_ns - gap_ns / 2);
}

TEST_F(StepsTest, TheOutermostOneIsTheLoop) {
  for (int i = 0; i < 12; ++i) {
    At(main_, 24, "load_batch (data.py:3)");
    for (int layer = 0; layer < 3; ++layer)
      for (int line = 5; line < 8; ++line)
        At(main_, 25, "forward (net.py:" + std::to_string(line) + ")");
  }
  EXPECT_EQ(FunctionOf(Make()), "train (train.py)");
}

TEST_F(StepsTest, OfTwoAtOneDepthTheLongerOneIsTheLoop) {
  for (int i = 0; i < 20; ++i)
    for (int line = 40; line < 42; ++line)
      maker_.Add(main_,
                 {"<module> (train.py:50)", "evaluate (train.py:" + std::to_string(line) + ")"});
  for (int i = 0; i < 12; ++i) Step(main_);
  EXPECT_EQ(FunctionOf(Make()), "train (train.py)");
}

TEST_F(StepsTest, WhatComesBeforeIsNotTheLoop) {
  for (int i = 0; i < 12; ++i)
    for (int line = 1; line < 3; ++line)
      maker_.Add(main_, {"find (importlib.py:" + std::to_string(line) + ")"});
  for (int i = 0; i < 30; ++i) Step(main_);
  EXPECT_EQ(FunctionOf(Make()), "train (train.py)");
  EXPECT_EQ(FunctionOf(Make(), "find"), "find (importlib.py)") << "it was named";
}

TEST_F(StepsTest, TheThreadThatRunsTheOptimizerIsTheOne) {
  const std::uint32_t trainer = maker_.AddThread(77, "trainer");
  for (int i = 0; i < 24; ++i)
    for (int line = 1; line < 3; ++line)
      maker_.Add(main_, {"serve (server.py:" + std::to_string(line) + ")"});
  for (int i = 0; i < 12; ++i) Step(trainer);
  const v1::Profile profile = Make();
  EXPECT_EQ(FunctionOf(profile), "train (train.py)");
  EXPECT_EQ(FindStepLoop(profile, "")->thread, trainer);
}

TEST_F(StepsTest, WhatIsNoLoopIsSaid) {
  for (int i = 0; i < 5; ++i) Step(main_);
  v1::Profile profile = Make();
  EXPECT_EQ(FunctionOf(profile), "no Python function has repeated 10 times");
  EXPECT_THAT(FunctionOf(profile, "train"), HasSubstr("no Python function train that has"));
  profile.mutable_samples()->clear_edges();
  profile.mutable_samples()->set_count(0, 2);
  EXPECT_EQ(FindStepLoop(profile, "").error().code, ErrorCode::kUnsupported);
}

class StepTableTest : public StepsTest {
 protected:
  [[nodiscard]] StepTable Table() {
    profile_ = Make();
    auto loop = FindStepLoop(profile_, "");
    EXPECT_TRUE(loop);
    return StepsOf(*std::move(loop), profile_);
  }
  // "NAME ms" of all steps.
  [[nodiscard]] static std::vector<std::string> Texts(const std::vector<StepPart>& parts) {
    std::vector<std::string> texts;
    for (const StepPart& part : parts)
      texts.push_back(part.name + " " + std::to_string(part.time.all().ns / kMs) +
                      (part.calls.empty() ? "" : " " + part.calls));
    return texts;
  }

  v1::Profile profile_;
};

TEST_F(StepTableTest, HasTheTimeOfWholeStepsByLineAndPhase) {
  for (int i = 0; i < 12; ++i) Step(main_, i == 5 ? 4 : 1);
  const StepTable table = Table();
  ASSERT_EQ(table.steps.size(), 10u);
  EXPECT_THAT(Texts(table.lines),
              ElementsAre("24 100 load_batch (data.py)", "25 100 forward (net.py)",
                          "26 130 backward (net.py)", "27 100 update (net.py)"));
  EXPECT_THAT(Texts(table.phases),
              ElementsAre("data 100", "forward 100", "backward 130", "optimizer 100"));
  EXPECT_EQ(table.all.all().ns, 430 * kMs);
  EXPECT_EQ(table.MeanNs(), 43 * kMs);
  EXPECT_EQ(table.QuantileNs(0.5), 40 * kMs);
  EXPECT_EQ(table.QuantileNs(1), 70 * kMs);
  EXPECT_EQ(table.Slowest(2).front(), 4u);
  EXPECT_EQ(table.steps[4].length_ns, 70 * kMs);
  EXPECT_EQ(table.steps[4].reach_ns, 10 * kMs);
  EXPECT_EQ(table.lines[table.ExcessOf(4).line].name, "26");
  EXPECT_EQ(table.ExcessOf(4).ns, 27 * kMs);
  EXPECT_EQ(table.ExcessOf(0).ns, 0u);
}

TEST_F(StepTableTest, TimeOutsideOfTheFunctionIsElsewhere) {
  for (int i = 0; i < 12; ++i) {
    Step(main_);
    maker_.Add(main_, {"<module> (train.py:50)", "report (train.py:60)"});
  }
  EXPECT_EQ(Texts(Table().lines).back(), "[elsewhere] 100");
}

TEST_F(StepTableTest, OtherThreadsHaveNoPartInIt) {
  const std::uint32_t other = maker_.AddThread(5, "other");
  for (int i = 0; i < 12; ++i) {
    Step(main_);
    maker_.Add(other, {"work"});
  }
  EXPECT_EQ(Table().all.all().ns, 400 * kMs);
}

}  // namespace
}  // namespace profd::client
