#include "client/commands/waits.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "client/commands/common/output_plan.h"
#include "client/commands/common/wait_reports.h"
#include "tests/support/sample_profiles.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/client/commands/parsed.h"

namespace profd::client {
namespace {

TEST(WaitsVerbTest, CollectsAsCollectDoes) {
  const auto options = std::get<CollectOptions>(
      OptionsOf<WaitsVerb>({"waits", "-p", "12", "-s", "-d", "5", "-f", "json"}));
  EXPECT_EQ(options.target.pids().id(0), 12u);
  EXPECT_TRUE(options.target.children());
  EXPECT_EQ(options.duration_ns, 5'000'000'000u);
  EXPECT_EQ(options.output.report, Report::kWaits);
  EXPECT_EQ(options.output.format, "json");
  EXPECT_FALSE(options.sampling.no_wakers);
  EXPECT_FALSE(std::get<CollectOptions>(OptionsOf<WaitsVerb>({"waits", "-a"})).duration_ns);
  const auto command =
      std::get<CollectOptions>(OptionsOf<WaitsVerb>({"waits", "--", "make", "-j"}));
  EXPECT_EQ(command.command, (std::vector<std::string>{"make", "-j"}));
}

TEST(WaitsVerbTest, TakesAFile) {
  const auto options = std::get<ExportCommandOptions>(
      OptionsOf<WaitsVerb>({"waits", "out.json", "-o", "x.dot", "-o", "x.json"}));
  EXPECT_EQ(options.input, "out.json");
  EXPECT_EQ(options.output.files, (std::vector<std::string>{"x.dot", "x.json"}));
  EXPECT_EQ(Refused({"waits", "out.json", "-p", "1"}).message,
            "both a file and a target are named");
  EXPECT_EQ(Refused({"waits", "out.json", "--", "ls"}).message,
            "both a file and a target are named");
  EXPECT_NE(Refused({"waits"}).hint.find("FILE.json"), std::string::npos);
}

TEST(WaitsVerbTest, TakesARangeOfTheHistory) {
  const auto options = std::get<QueryOptions>(
      OptionsOf<WaitsVerb>({"waits", "--since", "10m", "--unit", "nginx", "-p", "7", "-f", "dot"}));
  EXPECT_EQ(options.question.request.since_ns(), 600'000'000'000u);
  EXPECT_EQ(options.question.request.filter().unit(0), "nginx");
  EXPECT_EQ(options.question.request.filter().pid(0), 7u);
  EXPECT_EQ(options.output.report, Report::kWaits);
  EXPECT_EQ(options.output.format, "dot");
  EXPECT_TRUE(std::holds_alternative<QueryOptions>(
      OptionsOf<WaitsVerb>({"waits", "2h..1h", "--comm", "x"})));
  EXPECT_EQ(Refused({"waits", "--unit", "nginx", "-p", "7"}).hint,
            "name one with --since, or write a range, 2h..1h");
  EXPECT_EQ(Refused({"waits", "--since", "1h", "-d", "5"}).message,
            "-d, -t, -s and a command are for a collection, and a time of the history is named");
}

TEST(WaitReportsTest, WhereNothingIsKnownTheHistorysSettingIsNamed) {
  EXPECT_NE(CheckWaits(testing::SmallProfile()).error().hint.find("set history.mode to hooks"),
            std::string::npos);
}

TEST(WaitReportsTest, FormatsAreChosenByFileOrByF) {
  EXPECT_EQ(*WaitReportOf("-", ""), Report::kWaits);
  EXPECT_EQ(*WaitReportOf("-", "json"), Report::kWaitsJson);
  EXPECT_EQ(*WaitReportOf("x.txt", ""), Report::kWaits);
  EXPECT_EQ(*WaitReportOf("x.txt", "dot"), Report::kWaitsDot);
  EXPECT_EQ(*WaitReportOf("x.dot", ""), Report::kWaitsDot);
  EXPECT_EQ(*WaitReportOf("x.json", "json"), Report::kWaitsJson);
  EXPECT_EQ(*WaitReportOf("odd", "table"), Report::kWaits);
  EXPECT_EQ(WaitReportOf("odd", "").error().message,
            "the extension of 'odd' names no format of waits");
  EXPECT_EQ(WaitReportOf("x.dot", "json").error().message,
            "-f json is not what x.dot says by its name");
  EXPECT_EQ(WaitReportOf("-", "gif").error().message, "no format of waits is called 'gif'");
}

TEST(WaitReportsTest, WithoutGraphvizAPictureIsRefusedAtOnce) {
  const test::TempFolder empty;
  const char* before = std::getenv("PATH");
  const std::string kept = before == nullptr ? "" : before;
  ASSERT_EQ(::setenv("PATH", empty.path().c_str(), 1), 0);
  const auto report = WaitReportOf("x.svg", "");
  ASSERT_EQ(::setenv("PATH", kept.c_str(), 1), 0);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(report.error().message, "cannot draw the graph: dot of Graphviz is not installed");
  EXPECT_NE(report.error().hint.find("apt install graphviz"), std::string::npos);
}

TEST(WaitReportsTest, AProfileOfBeforeHasNone) {
  OutputOptions options;
  options.report = Report::kWaits;
  auto plan = OutputPlan::Make(options, false);
  ASSERT_TRUE(plan);
  const auto none = plan->Restrict(testing::SmallProfile());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(none.error().message, "no data: the profile does not know who ends waits");
  EXPECT_TRUE(plan->Restrict(testing::WaitingProfile()));
}

TEST(WaitReportsTest, EachFormatIsWritten) {
  const v1::Profile profile = testing::WaitingProfile();
  const auto text = [&](Report report) {
    const auto rendered = RenderWaitReport(report, profile, {});
    EXPECT_TRUE(rendered);
    return rendered ? *rendered : "";
  };
  EXPECT_NE(text(Report::kWaits).find("engine-worker"), std::string::npos);
  EXPECT_TRUE(text(Report::kWaitsJson).starts_with("{"));
  EXPECT_TRUE(text(Report::kWaitsDot).starts_with("digraph waits {"));
}

}  // namespace
}  // namespace profd::client
