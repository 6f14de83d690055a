#include "client/screens/report/report_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "client/profile/steps/program_steps.h"
#include "client/screens/report/report_sheet.h"
#include "client/text/text.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/screens/golden.h"

namespace profd::client {
namespace {

using testing::ProfileMaker;
using testing::Running;

ReportQuestion About(const std::string& by) {
  ReportQuestion question;
  const auto keys = ParseReportKeys(by);
  EXPECT_TRUE(keys) << by;
  if (keys) question.keys = *keys;
  return question;
}

std::string Rendered(const v1::Profile& profile, const ReportQuestion& question,
                     const ReportViewOptions& options) {
  if (question.keys.size() == 2)
    return RenderReport(profile, TimeOf(profile),
                        CrossBy(*question.keys[0], *question.keys[1], profile, {}), question,
                        options);
  ReportTable table = TableBy(*question.keys[0], profile, {});
  EXPECT_TRUE(SortRows(table, question.sort));
  return RenderReport(profile, table, question, options);
}

TEST(ReportViewTest, MatchesItsGolden) {
  for (const std::size_t width : {80u, 120u}) {
    ReportViewOptions options;
    options.width = width;
    const std::string end = "_" + std::to_string(width) + ".txt";
    ExpectGolden(Rendered(testing::TypicalProfile(), About("function"), options),
                 "report_function" + end);
    ExpectGolden(Rendered(testing::SpinningProfile(), About("thread"), options),
                 "report_thread" + end);
    ExpectGolden(Rendered(testing::SmallProfile(), About("function,wait"), options),
                 "report_cross" + end);
  }
}

std::string Counted(const v1::Profile& profile, const std::string& by, std::size_t width,
                    const std::string& sort = "") {
  ReportQuestion question = About(by);
  question.counters = true;
  ReportTable table = TableBy(*question.keys[0], profile, {});
  EXPECT_TRUE(SortRows(table, sort));
  return RenderCounters(profile, table, question, {.width = width});
}

TEST(ReportViewTest, HardwareCountersMatchTheirGolden) {
  for (const std::size_t width : {80u, 120u}) {
    const std::string end = "_" + std::to_string(width) + ".txt";
    ExpectGolden(Counted(testing::CountedProfile(), "function", width, "cycles"),
                 "report_counted_function" + end);
    ExpectGolden(Counted(testing::CountedProfile(), "thread", width, "misses"),
                 "report_counted_thread" + end);
  }
}

TEST(ReportViewTest, SheetsHaveCountsWhereThereAreSome) {
  const auto sheet = [](const v1::Profile& profile, const std::string& by) {
    const ReportQuestion question = About(by);
    return SheetCsv(SheetOf(TableBy(*question.keys[0], profile, {})));
  };
  EXPECT_NE(sheet(testing::CountedProfile(), "function")
                .find("self_cycles,self_instructions,self_cache_misses,total_counted_ns"),
            std::string::npos);
  EXPECT_NE(sheet(testing::CountedProfile(), "thread").find(",cycles,instructions,cache_misses\n"),
            std::string::npos);
  EXPECT_EQ(sheet(testing::SmallProfile(), "function").find("cycles"), std::string::npos);
}

TEST(ReportViewTest, WithoutCountersTheHeadSaysWhy) {
  ReportQuestion question = About("function");
  question.counters = true;
  EXPECT_NE(Rendered(testing::SmallProfile(), question, {})
                .find("\nno hardware counters: the profile was collected without --counters\n"),
            std::string::npos);
}

TEST(ReportViewTest, IntervalsStandWhereTheyAreWiderThanTheLastDigit) {
  const v1::Profile profile = testing::SampledProfile();
  for (const std::size_t width : {80u, 120u})
    ExpectGolden(Rendered(profile, About("function"), {.width = width}),
                 "report_intervals_" + std::to_string(width) + ".txt");
  // All of a thread is exact.
  EXPECT_EQ(Rendered(profile, About("thread"), {}).find("+-"), std::string::npos);
  ReportQuestion question = About("function");
  question.unit = ReportUnit::kTime;
  EXPECT_NE(Rendered(profile, question, {}).find("600 ms +-"), std::string::npos);
  question.unit = ReportUnit::kThreads;
  EXPECT_NE(Rendered(profile, question, {}).find("0.60 +-0.0"), std::string::npos);
}

TEST(ReportViewTest, SheetsHaveIntervalsWhereTheyAreKnown) {
  const auto rows = [](const v1::Profile& profile) {
    const auto table = TableBy(*About("function").keys[0], profile, {});
    return nlohmann::json::parse(SheetJson(SheetOf(table), profile))["rows"];
  };
  const auto known = rows(testing::SampledProfile());
  EXPECT_FALSE(rows(testing::SmallProfile())[0].contains("self_reach_ns"));
  for (const auto& row : known) {
    const bool main = row["function"] == "main";
    EXPECT_EQ(row["self_reach_ns"].get<std::uint64_t>() == 0, main) << row.dump();
    EXPECT_EQ(row["total_reach_ns"].get<std::uint64_t>() == 0, main) << row.dump();
  }
}

TEST(ReportViewTest, OperatorsHaveTheirTimePerStep) {
  v1::Profile profile = testing::SteppedProfile();
  profile.add_operators()->set_name("aten::linear");
  profile.mutable_operators(0)->set_rank(1);
  for (v1::Frame& frame : *profile.mutable_frames())
    if (frame.name() == "forward") frame.set_op(1);
  const auto steps = FindProgramSteps(profile, {});
  ASSERT_TRUE(steps);
  const ReportQuestion question = About("operator");
  ReportTable table = TableBy(*question.keys[0], profile, {.steps = &steps->loop});
  EXPECT_TRUE(SortRows(table, ""));
  for (const std::size_t width : {80u, 120u})
    ExpectGolden(RenderReport(profile, table, question, {.width = width}),
                 "report_operators_" + std::to_string(width) + ".txt");
  const auto json = nlohmann::json::parse(SheetJson(SheetOf(table), profile));
  for (const auto& row : json["rows"])
    if (row["operator"] == "aten::linear") {
      EXPECT_EQ(row["per_step_ns"], 5'000'000u);
    }
}

TEST(ReportViewTest, ColourChangesNoText) {
  for (const char* by : {"function", "thread", "thread,state"}) {
    ReportViewOptions options;
    const std::string plain = Rendered(testing::TypicalProfile(), About(by), options);
    options.palette = Palette(true);
    const std::string coloured = Rendered(testing::TypicalProfile(), About(by), options);
    EXPECT_NE(coloured, plain);
    EXPECT_EQ(WithoutColor(coloured), plain);
  }
}

TEST(ReportViewTest, LinesFitTheWidth) {
  for (const std::size_t width : {80u, 100u, 200u}) {
    for (const char* by : {"function", "package", "process", "function,thread"}) {
      ReportViewOptions options;
      options.width = width;
      std::istringstream lines(Rendered(testing::LargeProfile(2000), About(by), options));
      for (std::string line; std::getline(lines, line);)
        EXPECT_LE(DisplayWidth(line), width) << line;
    }
  }
}

TEST(ReportViewTest, TheHeadAddsUp) {
  const std::string text = Rendered(testing::SpinningProfile(), About("state"), {});
  EXPECT_NE(text.find("\n0.33 working + 0.20 spinning + 1.47 blocked = 2.00 threads on average\n"),
            std::string::npos)
      << text;
}

TEST(ReportViewTest, WhatIsLeftOutIsOneRow) {
  ReportQuestion question = About("function");
  question.limit = 1;
  const std::string text = Rendered(testing::SmallProfile(), question, {});
  EXPECT_NE(text.find("run\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("compute"), std::string::npos) << text;
  EXPECT_NE(text.find(" ... and 4 more\n"), std::string::npos) << text;
  question.limit.reset();
  EXPECT_EQ(Rendered(testing::SmallProfile(), question, {}).find("more"), std::string::npos);
  ReportViewOptions complete;
  complete.complete = true;
  complete.width = 200;
  const v1::Profile large = testing::LargeProfile(2000);
  EXPECT_NE(Rendered(large, question, {}).find(" more\n"), std::string::npos);
  EXPECT_EQ(Rendered(large, question, complete).find(" more\n"), std::string::npos);
}

TEST(ReportViewTest, SharesOfFewSamplesAreMarked) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  maker.Add(thread, {"main", "often"}, Running(900, 90));
  maker.Add(thread, {"main", "rare"}, Running(90, 9));
  maker.Add(thread, {"main", "ten"}, Running(100, 10));
  const std::string text = Rendered(maker.Make(), About("function"), {});
  EXPECT_NE(text.find("~8.3 %"), std::string::npos) << text;
  EXPECT_NE(text.find(" 9.2 %"), std::string::npos) << text;
  EXPECT_EQ(text.find("~9.2 %"), std::string::npos) << text;
}

TEST(ReportViewTest, OtherUnits) {
  ReportQuestion question = About("state");
  question.unit = ReportUnit::kTime;
  EXPECT_NE(Rendered(testing::SpinningProfile(), question, {}).find("400 ms"), std::string::npos);
  question.unit = ReportUnit::kThreads;
  const std::string text = Rendered(testing::SpinningProfile(), question, {});
  EXPECT_NE(text.find("1.47"), std::string::npos) << text;
  EXPECT_NE(text.find("states, threads on average"), std::string::npos) << text;
}

TEST(ReportViewTest, StatesOfTotalWhenSortedByIt) {
  ReportQuestion question = About("function");
  question.sort = "total";
  const std::string text = Rendered(testing::SmallProfile(), question, {});
  EXPECT_NE(text.find("; states and samples of total"), std::string::npos) << text;
  const std::size_t start = text.find("_start");
  ASSERT_NE(start, std::string::npos);
  const std::string line = text.substr(text.rfind('\n', start) + 1, start);
  EXPECT_NE(line.find("100.0 %"), std::string::npos) << line;
  EXPECT_NE(line.find("57.5 %"), std::string::npos) << line;  // blocked
}

TEST(ReportSheetTest, JsonHasEveryRowInNs) {
  ReportTable table = TableBy(*About("function").keys[0], testing::SmallProfile(), {});
  ASSERT_TRUE(SortRows(table, "self"));
  const auto json = nlohmann::json::parse(SheetJson(SheetOf(table), testing::SmallProfile()));
  EXPECT_EQ(json["length_ns"], 2'000'000'000u);
  EXPECT_EQ(json["threads"], 2u);
  EXPECT_EQ(json["total_ns"], 4'000'000'000u);
  ASSERT_EQ(json["rows"].size(), 5u);
  const auto& compute = json["rows"][1];
  EXPECT_EQ(compute["function"], "compute");
  EXPECT_EQ(compute["self_ns"], 1'700'000'000u);
  EXPECT_EQ(compute["self_samples"], 169u);
  EXPECT_EQ(compute["self_working_ns"], 1'680'000'000u);
  EXPECT_EQ(compute["self_runnable_ns"], 20'000'000u);
  EXPECT_EQ(compute["total_ns"], 1'700'000'000u);
}

TEST(ReportSheetTest, CsvQuotesWhatNeedsIt) {
  ProfileMaker maker;
  maker.Add(maker.AddThread(4242, "demo"), {"a<b, \"c\">"}, Running(10));
  const ReportTable table = TableBy(*About("function").keys[0], maker.Make(), {});
  const std::string text = SheetCsv(SheetOf(table));
  EXPECT_TRUE(text.starts_with("function,module,self_ns,self_samples,")) << text;
  EXPECT_NE(text.find("\n\"a<b, \"\"c\"\">\",demo,10000000,1,"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\n"));
}

TEST(ReportSheetTest, ACrossTableHasAColumnForEachValue) {
  const auto keys = About("thread,state").keys;
  const std::string text =
      SheetCsv(SheetOf(CrossBy(*keys[0], *keys[1], testing::SmallProfile(), {})));
  EXPECT_EQ(text,
            "thread,ns,samples,blocked ns,working ns,runnable ns\n"
            "demo (4242),2000000000,170,300000000,1680000000,20000000\n"
            "worker (4243),2000000000,2,2000000000,0,0\n");
}

}  // namespace
}  // namespace profd::client
