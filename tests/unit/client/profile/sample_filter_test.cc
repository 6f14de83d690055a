#include "client/profile/report/sample_filter.h"

#include <gtest/gtest.h>

#include "client/profile/check_profile.h"
#include "client/profile/report/report_time.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using testing::Blocked;
using testing::ProfileMaker;
using testing::Running;

// ms of the samples that fit; all must be sound.
std::uint64_t MsOf(const std::string& text, const v1::Profile& profile) {
  const auto filter = SampleFilter::Parse(text);
  EXPECT_TRUE(filter) << text << ": " << (filter ? "" : filter.error().message);
  if (!filter) return 0;
  const auto only = filter->Apply(profile);
  if (!only) {
    EXPECT_EQ(only.error().code, ErrorCode::kNotFound) << only.error().message;
    return 0;
  }
  EXPECT_TRUE(CheckProfile(*only));
  EXPECT_EQ(only->threads_size(), profile.threads_size());
  return TimeOf(*only).all().ns / 1'000'000;
}

std::string WrongIn(const std::string& text) {
  const auto filter = SampleFilter::Parse(text);
  EXPECT_FALSE(filter) << text;
  if (filter) return "";
  EXPECT_EQ(filter.error().code, ErrorCode::kInvalidArgument);
  return filter.error().message;
}

TEST(SampleFilterTest, OperatorsAndPhasesAreThoseOfTheStack) {
  const v1::Profile profile = testing::OperatorProfile();
  EXPECT_EQ(MsOf("operator = aten::linear", profile), 70u);
  EXPECT_EQ(MsOf("operator ~ ^aten", profile), 70u);
  EXPECT_EQ(MsOf("operator != aten::linear", profile), 30u);
  EXPECT_EQ(MsOf("phase = forward", profile), 70u);
  EXPECT_EQ(MsOf("not phase = forward", profile), 30u);
  EXPECT_EQ(MsOf("phase = backward", profile), 0u);
}

TEST(SampleFilterTest, LabelsAreThoseThatThreadsHavePublished) {
  const v1::Profile profile = testing::LabelledProfile();
  EXPECT_EQ(MsOf("label:step = 2", profile), 30u);
  EXPECT_EQ(MsOf("label:step != 2", profile), 70u);
  EXPECT_EQ(MsOf("label:step ~ [12]", profile), 50u);
  EXPECT_EQ(MsOf("label:step = 2 and not label:phase = load", profile), 20u);
  EXPECT_EQ(MsOf("label:other = 2", profile), 0u);
  auto of_process = profile;
  for (auto& process : *of_process.mutable_processes()) {
    (*process.mutable_labels())["other"] = "2";
    (*process.mutable_labels())["step"] = "9";
  }
  EXPECT_EQ(MsOf("label:other = 2", of_process), 100u);
  EXPECT_EQ(MsOf("label:step = 2", of_process), 30u) << "the thread's own label wins";
  EXPECT_EQ(MsOf("label:step = 9", of_process), 50u);
  EXPECT_EQ(MsOf("label:step = 2", testing::SmallProfile()), 0u);
  const auto kept = SampleFilter::Parse("label:step = 2")->Apply(profile);
  ASSERT_TRUE(kept);
  EXPECT_TRUE(CheckProfile(*kept));
  EXPECT_EQ(kept->samples().labels_size(), 2);
}

TEST(SampleFilterTest, FieldsAreCompared) {
  const v1::Profile small = testing::SmallProfile();
  EXPECT_EQ(MsOf("function = compute", small), 1700u);
  EXPECT_EQ(MsOf("function = main", small), 2000u);
  EXPECT_EQ(MsOf("function != compute", small), 2300u);
  EXPECT_EQ(MsOf("function ~ ^comp", small), 1700u);
  EXPECT_EQ(MsOf("function ~ omp", small), 1700u);
  EXPECT_EQ(MsOf("function = comp", small), 0u);
  EXPECT_EQ(MsOf("function = futex_wait", small), 300u);
  EXPECT_EQ(MsOf("thread = worker", small), 2000u);
  EXPECT_EQ(MsOf("thread = 4243", small), 2000u);
  EXPECT_EQ(MsOf("process = demo", small), 4000u);
  EXPECT_EQ(MsOf("process != 4242", small), 0u);
  EXPECT_EQ(MsOf("state = blocked", small), 2300u);
  EXPECT_EQ(MsOf("state = runnable", small), 20u);
  EXPECT_EQ(MsOf("state = running", small), 1680u);
  EXPECT_EQ(MsOf("wait = lock", small), 300u);
  EXPECT_EQ(MsOf("wait ~ \"lock|io\"", small), 1100u);
  EXPECT_EQ(MsOf("state = spinning", testing::SpinningProfile()), 400u);
  EXPECT_EQ(MsOf("state = running", testing::SpinningProfile()), 1050u);
}

TEST(SampleFilterTest, FilesAndModules) {
  const v1::Profile typical = testing::TypicalProfile();
  EXPECT_EQ(MsOf("file = data.py", typical), MsOf("function ~ ^DataLoader", typical));
  EXPECT_EQ(MsOf("module = libjpeg.so.62", typical), 400u);
  EXPECT_EQ(MsOf("module = data", typical), MsOf("file = data.py", typical));
}

TEST(SampleFilterTest, AndBindsMoreThanOr) {
  const v1::Profile small = testing::SmallProfile();
  EXPECT_EQ(MsOf("function = compute and state = runnable", small), 20u);
  EXPECT_EQ(MsOf("wait = io or function = compute and state = runnable", small), 820u);
  EXPECT_EQ(MsOf("(wait = io or function = compute) and state = runnable", small), 20u);
  EXPECT_EQ(MsOf("not state = blocked", small), 1700u);
  EXPECT_EQ(MsOf("not not state = blocked", small), 2300u);
  EXPECT_EQ(MsOf("not (state = blocked or thread = worker)", small), 1700u);
  EXPECT_EQ(MsOf("state=blocked and(wait!=io)", small), 1500u);
}

TEST(SampleFilterTest, TimesNeedSingleSamples) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  for (int i = 0; i < 10; ++i) maker.Add(thread, {"main"}, Running(1000));
  const v1::Profile profile = maker.Make();
  EXPECT_EQ(MsOf("time = 2..5", profile), 3000u);
  EXPECT_EQ(MsOf("time = ..2", profile), 2000u);
  EXPECT_EQ(MsOf("time = 7.5..", profile), 2000u);
  const auto filter = SampleFilter::Parse("not time = 2..5");
  ASSERT_TRUE(filter);
  const auto sums = filter->Apply(testing::SmallProfile());  // a sample of it stands for 150
  ASSERT_FALSE(sums);
  EXPECT_EQ(sums.error().code, ErrorCode::kUnsupported);
}

TEST(SampleFilterTest, WhatIsWrongIsNamedWithItsPlace) {
  EXPECT_EQ(WrongIn(""), "--filter, character 1: the end is no field");
  EXPECT_EQ(WrongIn("fonction = a"), "--filter, character 1: 'fonction' is no field");
  EXPECT_EQ(WrongIn("function a"), "--filter, character 10: an operator is missing before 'a'");
  EXPECT_EQ(WrongIn("function ="), "--filter, character 11: a value is missing before the end");
  EXPECT_EQ(WrongIn("function = a b"),
            "--filter, character 14: 'and' or 'or' is missing before 'b'");
  EXPECT_EQ(WrongIn("(wait = io"), "--filter, character 11: ')' is missing before the end");
  EXPECT_EQ(WrongIn("wait = io)"), "--filter, character 10: ')' closes nothing");
  EXPECT_EQ(WrongIn("wait = 'io"), "--filter, character 8: the text that begins here has no end");
  EXPECT_EQ(WrongIn("wait ! io"), "--filter, character 6: '!' is no operator");
  EXPECT_EQ(WrongIn("wait = oi"), "--filter, character 8: 'oi' is no reason of a wait");
  EXPECT_EQ(WrongIn("state != idle"), "--filter, character 10: 'idle' is no state");
  EXPECT_EQ(WrongIn("time ~ 3"), "--filter, character 6: time has no operator '~'");
  EXPECT_EQ(WrongIn("time = 5..2"), "--filter, character 8: the range '5..2' is empty");
  EXPECT_EQ(WrongIn("time = soon"), "--filter, character 8: 'soon' is no range of times");
  EXPECT_EQ(WrongIn("time = -1.."), "--filter, character 8: '-1..' is no range of times");
  EXPECT_EQ(WrongIn("step ~ 3"), "--filter, character 6: step has no operator '~'");
  EXPECT_EQ(WrongIn("step = 5..2"), "--filter, character 8: the range '5..2' is empty");
  for (const char* step : {"0", "..", "first", "1.5", "-1", "99999999999"})
    EXPECT_EQ(WrongIn(std::string("step = ") + step),
              std::string("--filter, character 8: '") + step + "' is no step");
  EXPECT_TRUE(WrongIn("function ~ '['")
                  .starts_with("--filter, character 12: '[' is no regular expression: "));
  EXPECT_EQ(WrongIn(std::string(100, '(') + "wait = io"),
            "--filter, character 65: there are too many parentheses inside of each other");
  EXPECT_EQ(WrongIn(std::string(5000, 'a')), "--filter is longer than 4096 bytes");
}

TEST(SampleFilterTest, NothingLeftIsNoData) {
  const auto filter = SampleFilter::Parse("wait = child");
  ASSERT_TRUE(filter);
  const auto none = filter->Apply(testing::SmallProfile());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(none.error().message, "no data: no sample fits --filter wait = child");
}

TEST(SampleFilterTest, HostileNamesAreCompared) {
  const v1::Profile hostile = testing::HostileProfile();
  for (const std::string& name : testing::HostileNames()) {
    if (name.find('\'') != std::string::npos || name.size() > 1000) continue;
    const auto filter = SampleFilter::Parse("function = '" + name + "' or not function = main");
    ASSERT_TRUE(filter) << name;
    EXPECT_TRUE(filter->Apply(hostile)) << name;
  }
}

}  // namespace
}  // namespace profd::client
