#include "client/commands/threads.h"

#include <gtest/gtest.h>

#include "client/commands/common/output_plan.h"
#include "client/commands/common/thread_reports.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/commands/parsed.h"

namespace profd::client {
namespace {

TEST(ThreadsVerbTest, CollectsAProcessOrATarget) {
  const auto by_number =
      std::get<CollectOptions>(OptionsOf<ThreadsVerb>({"threads", "12", "-d", "5", "-f", "json"}));
  EXPECT_EQ(by_number.target.pids().id(0), 12u);
  EXPECT_EQ(by_number.duration_ns, 5'000'000'000u);
  EXPECT_EQ(by_number.output.report, Report::kThreads);
  EXPECT_EQ(by_number.output.format, "json");
  // How many threads ran at once rests on them.
  EXPECT_FALSE(by_number.sampling.no_wakers);
  EXPECT_TRUE(std::get<CollectOptions>(OptionsOf<ThreadsVerb>({"threads", "-a"})).target.has_all());
  const auto command =
      std::get<CollectOptions>(OptionsOf<ThreadsVerb>({"threads", "--", "make", "-j"}));
  EXPECT_EQ(command.command, (std::vector<std::string>{"make", "-j"}));
}

TEST(ThreadsVerbTest, TakesAFileOrARange) {
  const auto file = std::get<ExportCommandOptions>(
      OptionsOf<ThreadsVerb>({"threads", "out.json", "-o", "x.csv", "-o", "x.txt"}));
  EXPECT_EQ(file.input, "out.json");
  EXPECT_EQ(file.output.files, (std::vector<std::string>{"x.csv", "x.txt"}));
  const auto range = std::get<QueryOptions>(OptionsOf<ThreadsVerb>({"threads", "2h..1h"}));
  EXPECT_EQ(range.output.report, Report::kThreads);
  const auto since =
      std::get<QueryOptions>(OptionsOf<ThreadsVerb>({"threads", "--since", "1h", "--unit", "x"}));
  EXPECT_EQ(since.output.report, Report::kThreads);
}

TEST(ThreadsVerbTest, CountersAreOfACollectionAndOfAFile) {
  const auto target =
      std::get<CollectOptions>(OptionsOf<ThreadsVerb>({"threads", "12", "--counters"}));
  EXPECT_TRUE(target.sampling.counters);
  const auto file =
      std::get<ExportCommandOptions>(OptionsOf<ThreadsVerb>({"threads", "x.json", "--counters"}));
  EXPECT_TRUE(file.output.question.counters);
}

TEST(ThreadsVerbTest, OneSourceIsNamed) {
  EXPECT_EQ(Refused({"threads", "12", "-a"}).message,
            "both process 12 and another target are named");
  EXPECT_EQ(Refused({"threads", "out.json", "--since", "1h"}).message,
            "both a file and a time of the history are named");
  EXPECT_NE(Refused({"threads"}).hint.find("FILE.json"), std::string::npos);
}

TEST(ThreadReportsTest, FormatsAreChosenByFileOrByF) {
  EXPECT_EQ(*ThreadReportOf("-", ""), Report::kThreads);
  EXPECT_EQ(*ThreadReportOf("-", "csv"), Report::kThreadsCsv);
  EXPECT_EQ(*ThreadReportOf("x.json", ""), Report::kThreadsJson);
  EXPECT_EQ(ThreadReportOf("odd", "").error().message,
            "the extension of 'odd' names no format of threads");
}

TEST(ThreadReportsTest, EachFormatIsWritten) {
  const v1::Profile profile = testing::PoolProfile();
  EXPECT_NE(RenderThreadReport(Report::kThreads, profile, {}).find("threads at once"),
            std::string::npos);
  EXPECT_TRUE(RenderThreadReport(Report::kThreadsCsv, profile, {}).starts_with("pid,process,"));
  EXPECT_TRUE(RenderThreadReport(Report::kThreadsJson, profile, {}).starts_with("{"));
}

TEST(ThreadReportsTest, ThePlanKnowsThem) {
  OutputOptions options;
  options.report = Report::kThreads;
  options.files = {"-"};
  options.format = "csv";
  auto plan = OutputPlan::Make(options, false);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->outputs().size(), 1u);
  EXPECT_EQ(plan->outputs()[0].report, Report::kThreadsCsv);
  EXPECT_TRUE(plan->Restrict(testing::SmallProfile()));
}

}  // namespace
}  // namespace profd::client
