#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/profile/check_profile.h"
#include "client/profile/report/report_table.h"
#include "client/profile/report/sample_filter.h"
#include "client/profile/report/step_table.h"
#include "client/profile/steps/named_calls.h"
#include "client/profile/steps/program_steps.h"
#include "client/profile/steps/step_loop.h"
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
    return TableOf(profile_);
  }
  [[nodiscard]] static StepTable TableOf(const v1::Profile& profile,
                                         const StepChoice& choice = {}) {
    const auto steps = FindProgramSteps(profile, choice);
    EXPECT_TRUE(steps) << steps.error().message;
    return steps ? StepsOf(*steps, profile) : StepTable{};
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

// Of a loop in samples, 15 a step: its course is that of the phases of these.
TEST_F(StepTableTest, WithoutMarksTheCourseIsThatOfPhases) {
  for (int i = 0; i < 12; ++i) {
    const auto at = [&](int line, const std::string& callee, int samples) {
      for (int sample = 0; sample < samples; ++sample) At(main_, line, callee);
    };
    at(24, "load_batch (data.py:3)", i == 5 ? 10 : 4);
    at(25, "forward (net.py:9)", 5);
    at(26, "backward (net.py:19)", 3);
    at(27, "update (net.py:29)", 3);
  }
  const StepTable table = Table();
  ASSERT_TRUE(table.has_courses());
  EXPECT_TRUE(table.courses_estimated);
  EXPECT_EQ(table.steps[0].course->data_ns, 40 * kMs);
  EXPECT_EQ(table.steps[0].course->gap_ns, 40 * kMs);
  EXPECT_EQ(table.steps[0].course->work_ns, 80 * kMs);
  EXPECT_EQ(table.steps[0].course->tail_ns, 30 * kMs);
  EXPECT_EQ(table.steps[0].course->reach_ns, 10 * kMs);
  const std::size_t slowest = table.Slowest(1).front();
  EXPECT_EQ(table.steps[slowest].course->data_ns, 100 * kMs);
  EXPECT_STREQ(table.CourseExcessOf(slowest).part, "waiting for data");
  EXPECT_EQ(table.CourseExcessOf(slowest).ns, 60 * kMs);
}

// A step may begin anywhere: what an optimizer does at its begin is a part of the tail.
TEST_F(StepTableTest, AStepThatBeginsWithTheOptimizerHasThatInItsTail) {
  const auto at = [&](const std::string& callee, int samples) {
    for (int sample = 0; sample < samples; ++sample) At(main_, 24, callee);
  };
  std::vector<std::uint64_t> begins_ms;
  for (int i = 0; i < 5; ++i) {
    begins_ms.push_back(200u * static_cast<std::uint64_t>(i));
    at("update (net.py:29)", 4);
    at("load_batch (data.py:3)", 6);
    at("forward (net.py:9)", 10);
  }
  v1::Profile profile = Make();
  profile.add_step_sources()->set_text("uprobe:libfoo.so:work");
  profile.add_step_names("");
  for (const std::uint64_t begin_ms : begins_ms) {
    v1::StepEvents& events = *profile.mutable_step_events();
    events.add_time_ns(profile.start_ns() + begin_ms * kMs);
    events.add_thread(main_);
    events.add_source(0);
    events.add_name(0);
    events.add_end(false);
  }
  const StepTable table = TableOf(profile);
  ASSERT_TRUE(table.has_courses());
  const StepCourse course = table.steps[1].course.value_or(StepCourse{});
  EXPECT_EQ(course.data_ns, 60 * kMs);
  EXPECT_EQ(course.gap_ns, 60 * kMs);
  EXPECT_EQ(course.work_ns, 105 * kMs) << "to the border of the step, between two samples";
  EXPECT_EQ(course.tail_ns, 35 * kMs);
  EXPECT_EQ(course.reach_ns, 5 * kMs);
}

TEST_F(StepTableTest, OfFewSamplesAStepThereIsNoCourse) {
  for (int i = 0; i < 12; ++i) Step(main_);
  EXPECT_FALSE(Table().has_courses());
}

TEST_F(StepTableTest, WithoutForwardAndBackwardThereIsNoCourse) {
  for (int i = 0; i < 12; ++i)
    for (int sample = 0; sample < 12; ++sample)
      At(main_, sample < 6 ? 24 : 25, "load_batch (data.py:3)");
  EXPECT_FALSE(Table().has_courses());
}

// Steps that a program itself says, of 10 ms each: it waits for data from 1 to 3 ms, and the
// optimizer takes the last 2 ms.
class SaidStepsTest : public StepTableTest {
 protected:
  void Event(v1::Profile& profile, std::uint64_t at_ns, std::uint32_t name, bool end,
             std::uint32_t source = 0) const {
    v1::StepEvents& events = *profile.mutable_step_events();
    events.add_time_ns(profile.start_ns() + at_ns);
    events.add_thread(main_);
    events.add_source(source);
    events.add_name(name);
    events.add_end(end);
  }
  // `slow`: this step waits for its data for 50 ms more; `ends`: they are said, too.
  [[nodiscard]] v1::Profile Said(std::size_t slow, bool ends = true) {
    for (int i = 0; i < 12; ++i) Step(main_);
    v1::Profile profile = Make();
    v1::StepSource& source = *profile.add_step_sources();
    source.set_text("record_function");
    source.set_names(true);
    source.set_ends(ends);
    for (const char* name :
         {"", "enumerate(DataLoader)#_Iter.__next__", "Optimizer.step#Adam.step"})
      profile.add_step_names(name);
    std::uint64_t at_ns = 0;
    for (std::size_t step = 0; step < 8; ++step) {
      const std::uint64_t more_ns = step == slow ? 50 * kMs : 0;
      Event(profile, at_ns + 1 * kMs, 1, false);
      if (ends) Event(profile, at_ns + 3 * kMs + more_ns, 0, true);
      Event(profile, at_ns + 8 * kMs + more_ns, 2, false);
      if (ends) Event(profile, at_ns + 10 * kMs + more_ns, 0, true);
      at_ns += 10 * kMs + more_ns;
    }
    EXPECT_TRUE(CheckProfile(profile));
    return profile;
  }
};

TEST_F(SaidStepsTest, LastFromTheEndOfAnOptimizerToThatOfTheNext) {
  const v1::Profile profile = Said(5);
  const StepTable table = TableOf(profile);
  ASSERT_EQ(table.steps.size(), 7u) << "the first one may have begun before";
  EXPECT_EQ(table.steps[0].begin_ns, profile.start_ns() + 10 * kMs);
  EXPECT_EQ(table.steps[0].reach_ns, 0u);
  EXPECT_FALSE(table.loop.rough());
  EXPECT_EQ(table.QuantileNs(0.5), 10 * kMs);
  ASSERT_TRUE(table.has_courses());
  EXPECT_EQ(table.steps[0].course->data_ns, 2 * kMs);
  EXPECT_EQ(table.steps[0].course->gap_ns, 3 * kMs);
  EXPECT_EQ(table.steps[0].course->work_ns, 5 * kMs);
  EXPECT_EQ(table.steps[0].course->tail_ns, 2 * kMs);
  EXPECT_EQ(table.Slowest(1).front(), 4u);
  EXPECT_STREQ(table.CourseExcessOf(4).part, "waiting for data");
  EXPECT_EQ(table.CourseExcessOf(4).ns, 50 * kMs);
  EXPECT_EQ(table.CourseExcessOf(0).ns, 0u);
  EXPECT_EQ(table.loop.function, "train (train.py)") << "found in samples of the same thread";
}

TEST_F(SaidStepsTest, WithoutEndsLastFromBeginToBegin) {
  const StepTable table = TableOf(Said(5, false));
  ASSERT_EQ(table.steps.size(), 7u);
  EXPECT_FALSE(table.has_courses());
  EXPECT_EQ(table.steps[0].length_ns, 10 * kMs);
  EXPECT_EQ(table.steps[4].length_ns, 60 * kMs);
}

TEST_F(SaidStepsTest, AnotherNameMayEndThem) {
  const v1::Profile profile = Said(5);
  EXPECT_EQ(
      TableOf(profile, {.source = "", .name = "enumerate(DataLoader)", .loop = ""}).loop.said_by,
      "enumerate(DataLoader)#_Iter.__next__");
  const auto none = FindProgramSteps(profile, {.source = "", .name = "no such", .loop = ""});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().hint, HasSubstr("Optimizer.step#Adam.step (8 times)"));
}

TEST_F(SaidStepsTest, HitsOfAFunctionBeginSteps) {
  v1::Profile profile = Make();
  profile.add_step_sources()->set_text("uprobe:libfoo.so:work");
  profile.add_step_names("");
  for (std::uint64_t i = 0; i < 4; ++i) Event(profile, i * 7 * kMs, 0, false);
  const StepTable table = TableOf(profile);
  EXPECT_EQ(table.loop.said_by, "uprobe:libfoo.so:work");
  ASSERT_EQ(table.steps.size(), 3u);
  EXPECT_EQ(table.steps[1].length_ns, 7 * kMs);
  EXPECT_TRUE(table.lines.empty()) << "no function repeats in samples";
  EXPECT_TRUE(table.steps[1].line_ns.empty());
}

TEST_F(SaidStepsTest, CallsMayEndByTheirObjects) {
  v1::Profile profile = Make();
  v1::StepSource& source = *profile.add_step_sources();
  source.set_text("record_event");
  source.set_names(true);
  source.set_ends(true);
  for (const char* name : {"", "outer", "late"}) profile.add_step_names(name);
  const auto add = [&](std::uint64_t at_ms, std::uint32_t name, std::uint64_t object) {
    Event(profile, at_ms * kMs, name, name == 0);
    profile.mutable_step_events()->add_object(object);
  };
  add(1, 1, 0x10);
  add(3, 2, 0x20);
  add(6, 0, 0x10);
  add(6, 0, 0x10);  // its destructor
  add(8, 0, 0x20);
  // The same object again, after an end that was lost.
  add(20, 1, 0x30);
  add(21, 1, 0x30);
  add(21, 0, 0x30);
  add(29, 0, 0x30);
  ASSERT_TRUE(CheckProfile(profile));
  const auto calls = NamedCallsOf(profile);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].name, "late");
  EXPECT_EQ(calls[0].total_ns, 5 * kMs);
  EXPECT_EQ(calls[0].self_ns, 5 * kMs);
  EXPECT_EQ(calls[1].name, "outer");
  EXPECT_EQ(calls[1].calls, 3u);
  EXPECT_EQ(calls[1].ended, 2u);
  EXPECT_EQ(calls[1].total_ns, 5 * kMs);
  EXPECT_EQ(calls[1].self_ns, 2 * kMs)
      << "the part of the other one that lies in it is not its own";
  profile.mutable_step_events()->add_object(1);
  EXPECT_FALSE(CheckProfile(profile));
}

TEST_F(SaidStepsTest, NamedCallsAreCountedWithTheirTime) {
  v1::Profile profile = Said(5);
  // The last optimizer, from 138 to 140 ms: a call in a call of its name, and one that does not
  // end.
  const std::uint64_t at_ns = 140 * kMs;
  for (int i = 0; i < 2; ++i) Event(profile, at_ns, 2, false);
  Event(profile, at_ns + 4 * kMs, 1, false);
  Event(profile, at_ns + 5 * kMs, 0, true);
  Event(profile, at_ns + 6 * kMs, 0, true);
  Event(profile, at_ns + 10 * kMs, 0, true);
  Event(profile, at_ns + 11 * kMs, 1, false);
  ASSERT_TRUE(CheckProfile(profile));
  const auto calls = NamedCallsOf(profile);
  ASSERT_EQ(calls.size(), 2u);
  const NamedCalls& data = calls[0];
  EXPECT_EQ(data.name, "enumerate(DataLoader)#_Iter.__next__");
  EXPECT_EQ(data.calls, 10u);
  EXPECT_EQ(data.ended, 9u);
  EXPECT_EQ(data.total_ns, (8 * 2 + 50 + 1) * kMs);
  EXPECT_EQ(data.self_ns, data.total_ns);
  EXPECT_EQ(data.longest_ns, 52 * kMs);
  EXPECT_EQ(data.mean_ns, data.total_ns / 9);
  const NamedCalls& optimizer = calls[1];
  EXPECT_EQ(optimizer.calls, 10u);
  EXPECT_EQ(optimizer.total_ns, (8 * 2 + 10) * kMs) << "one is inside of another one";
  EXPECT_EQ(optimizer.self_ns, (8 * 2 + 10 - 1) * kMs);
  EXPECT_EQ(optimizer.mean_ns, (8 * 2 + 10 + 6) * kMs / 10);
}

TEST_F(SaidStepsTest, CallsWithoutEndsHaveANumberAndNoTime) {
  const auto calls = NamedCallsOf(Said(5, false));
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].calls, 8u);
  EXPECT_EQ(calls[0].ended, 0u);
  EXPECT_EQ(calls[0].total_ns, 0u);
}

TEST_F(SaidStepsTest, ALoopInSamplesIsTakenIfItIsWanted) {
  const v1::Profile profile = Said(5);
  for (const StepChoice& choice : {StepChoice{.source = "loop", .name = "", .loop = ""},
                                   StepChoice{.source = "", .name = "", .loop = "train"}}) {
    const StepTable table = TableOf(profile, choice);
    EXPECT_FALSE(table.loop.exact);
    EXPECT_EQ(table.loop.function, "train (train.py)");
  }
}

// Labels that a thread publishes with each of its samples, 10 ms apart.
class LabelStepsTest : public StepTableTest {
 protected:
  // A sample for each value; empty: without a label.
  [[nodiscard]] v1::Profile Labelled(const std::vector<std::string>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) At(main_, 24, "work (net.py:9)");
    const std::uint32_t other = maker_.AddThread(5, "other");
    maker_.Add(other, {"work"});
    v1::Profile profile = Make();
    v1::Samples& samples = *profile.mutable_samples();
    std::vector<std::string> known;
    for (int i = 0; i < samples.node_size(); ++i) {
      const std::string value =
          samples.thread(i) == main_ ? values[static_cast<std::size_t>(next_++)] : "";
      if (value.empty()) {
        samples.add_labels(0);
        continue;
      }
      v1::Label& label = *profile.add_label_sets()->add_labels();
      label.set_name("step");
      label.set_value(value);
      samples.add_labels(static_cast<std::uint32_t>(profile.label_sets_size()));
    }
    EXPECT_TRUE(CheckProfile(profile));
    return profile;
  }

 private:
  std::size_t next_ = 0;
};

TEST_F(LabelStepsTest, EachValueIsAStep) {
  const v1::Profile profile = Labelled({"1", "1", "2", "2", "", "3", "3", "3", "4"});
  const StepTable table = TableOf(profile);
  EXPECT_EQ(table.loop.said_by, "label:step");
  EXPECT_EQ(table.loop.thread, main_);
  ASSERT_EQ(table.steps.size(), 2u) << "the first may have begun before, the last goes on";
  EXPECT_EQ(table.steps[0].begin_ns, profile.start_ns() + 15 * kMs);
  EXPECT_EQ(table.steps[0].length_ns, 30 * kMs) << "with what comes before the next one";
  EXPECT_EQ(table.steps[0].reach_ns, 10 * kMs) << "half of the distance of samples at each end";
  EXPECT_EQ(table.steps[1].length_ns, 30 * kMs);
  EXPECT_TRUE(table.loop.rough());
}

TEST_F(LabelStepsTest, WhatThereIsIsSaid) {
  const v1::Profile profile = Labelled({"1", "2", "3", "4"});
  EXPECT_EQ(TableOf(profile).steps.size(), 2u);
  const auto none = FindProgramSteps(profile, {.source = "label:epoch", .name = "", .loop = ""});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "label:epoch has not changed three times in a thread");
  EXPECT_EQ(none.error().hint, "threads publish label:step");
}

TEST_F(SaidStepsTest, TimeOfAllThreadsBelongsToTheStepInWhichItLies) {
  const std::uint32_t other = maker_.AddThread(5, "other");
  for (int i = 0; i < 48; ++i) maker_.Add(other, {"help"});
  const v1::Profile profile = Said(8);
  const auto steps = FindProgramSteps(profile, {});
  ASSERT_TRUE(steps);
  const auto keys = ParseReportKeys("step,thread");
  ASSERT_TRUE(keys);
  const CrossTable table = CrossBy(*(*keys)[0], *(*keys)[1], profile, {.steps = &steps->loop});
  // Samples lie 10 ms apart, as steps do: one of each thread in each of the 7 whole steps. Of the
  // 48 of each thread 41 lie elsewhere.
  ASSERT_EQ(table.rows.size(), 8u);
  EXPECT_EQ(table.rows[0].name, "[no whole step]");
  EXPECT_EQ(table.rows[0].all.ns, 820 * kMs);
  for (std::size_t row = 1; row < table.rows.size(); ++row) {
    EXPECT_EQ(table.rows[row].name, std::to_string(row));
    for (const SampledTime& cell : table.rows[row].cells) EXPECT_EQ(cell.ns, 10 * kMs);
  }
  for (const auto& [text, samples] :
       {std::pair("step = 3", 2), std::pair("step = 3..5", 6), std::pair("step = 6..", 4),
        std::pair("step = ..2", 4), std::pair("step != 1..7", 82)}) {
    const auto kept = SampleFilter::Parse(text)->Apply(profile, &steps->loop);
    ASSERT_TRUE(kept) << text;
    EXPECT_EQ(kept->samples().node_size(), samples) << text;
  }
}

}  // namespace
}  // namespace profd::client
