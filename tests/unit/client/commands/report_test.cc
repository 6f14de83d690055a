#include "client/commands/report.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "client/commands/common/output_plan.h"
#include "client/commands/common/profile_report.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/client/commands/parsed.h"

namespace profd::client {
namespace {

ExportCommandOptions OfFile(std::vector<std::string> more) {
  std::vector<std::string> line{"report", "out.json"};
  line.insert(line.end(), more.begin(), more.end());
  return std::get<ExportCommandOptions>(OptionsOf<ReportVerb>(std::move(line)));
}

TEST(ReportVerbTest, TakesAFile) {
  const auto options =
      OfFile({"--by", "package,state", "--limit", "7", "-o", "x.csv", "-o", "x.json", "--kernel"});
  EXPECT_EQ(options.input, "out.json");
  EXPECT_EQ(options.output.report, Report::kReport);
  EXPECT_EQ(options.output.files, (std::vector<std::string>{"x.csv", "x.json"}));
  const ReportQuestion& question = options.output.question;
  ASSERT_EQ(question.keys.size(), 2u);
  EXPECT_EQ(question.keys[0]->name, "package");
  EXPECT_EQ(question.keys[1]->name, "state");
  EXPECT_EQ(question.limit, 7u);
  EXPECT_TRUE(question.kernel);
}

TEST(ReportVerbTest, FunctionsAreTheDefault) {
  const ReportQuestion question = OfFile({}).output.question;
  ASSERT_EQ(question.keys.size(), 1u);
  EXPECT_EQ(question.keys[0]->name, "function");
  EXPECT_EQ(question.unit, ReportUnit::kShare);
  EXPECT_FALSE(question.filter);
  EXPECT_FALSE(question.limit);
  EXPECT_EQ(OfFile({"--in", "time"}).output.question.unit, ReportUnit::kTime);
}

TEST(ReportVerbTest, TreesAndAnnotationsStandInThePlaceOfATable) {
  const ReportQuestion sides =
      OfFile({"--callers", "f", "--callees", "g", "--depth", "3", "--limit", "5%"}).output.question;
  EXPECT_EQ(sides.callers, "f");
  EXPECT_EQ(sides.callees, "g");
  EXPECT_EQ(sides.depth, 3u);
  EXPECT_DOUBLE_EQ(sides.least_share, 0.05);
  const ReportQuestion tree = OfFile({"--tree", "--timeline"}).output.question;
  EXPECT_TRUE(tree.tree);
  EXPECT_TRUE(tree.timeline);
  EXPECT_FALSE(tree.depth);
  EXPECT_EQ(OfFile({"--annotate", "a.py"}).output.question.annotate, "a.py");
  EXPECT_EQ(Refused({"report", "1", "--tree", "--by", "wait"}).message,
            "--by, --callers with --callees, --tree, --annotate, --steps and --exact are different "
            "reports");
  EXPECT_TRUE(OfFile({"--exact"}).output.question.exact);
  EXPECT_TRUE(OfFile({"--exact", "--step", "uprobe:libfoo.so:work"}).output.question.exact);
  EXPECT_EQ(Refused({"report", "1", "--exact", "--filter", "state = blocked"}).message,
            "--filter is for samples, and --exact for calls");
  const ReportQuestion steps = OfFile({"--steps", "--loop", "train"}).output.question;
  EXPECT_TRUE(steps.steps);
  EXPECT_EQ(steps.step_choice.loop, "train");
  EXPECT_EQ(OfFile({"--by", "step", "--step", "label:epoch"}).output.question.step_choice.source,
            "label:epoch");
  EXPECT_TRUE(OfFile({"--filter", "step = 3", "--step-name", "a"}).output.question.NeedsSteps());
  const ReportQuestion of_operators =
      OfFile({"--by", "operator", "--step", "label:epoch"}).output.question;
  EXPECT_TRUE(of_operators.ShowsStepsIfAny());
  EXPECT_FALSE(of_operators.NeedsSteps());
  EXPECT_EQ(of_operators.step_choice.source, "label:epoch");
  EXPECT_FALSE(OfFile({"--by", "operator,thread"}).output.question.ShowsStepsIfAny());
  EXPECT_EQ(Refused({"report", "1", "--loop", "train"}).message, "--loop is for steps");
  EXPECT_EQ(Refused({"report", "1", "--steps", "--sort", "self"}).message,
            "--sort is for tables by one key");
  EXPECT_EQ(Refused({"report", "1", "--timeline"}).message, "--timeline is for --tree");
  EXPECT_EQ(Refused({"report", "1", "--depth", "3"}).message, "--depth is for trees");
  EXPECT_EQ(Refused({"report", "1", "--tree", "--sort", "self"}).message,
            "--sort is for tables by one key");
  EXPECT_EQ(Refused({"report", "1", "--tree", "--limit", "200%"}).message,
            "--limit 200%: not a share of the time");
  EXPECT_EQ(Refused({"report", "1", "--annotate", "f", "--limit", "2"}).message,
            "--limit is for tables and trees");
}

TEST(ReportVerbTest, CollectsAProcessOrATarget) {
  const auto process = std::get<CollectOptions>(OptionsOf<ReportVerb>({"report", "12"}));
  EXPECT_EQ(process.target.pids().id(0), 12u);
  EXPECT_FALSE(process.duration_ns);  // as collect: 10 s
  const auto target = std::get<CollectOptions>(
      OptionsOf<ReportVerb>({"report", "-a", "-d", "5", "--by", "process"}));
  EXPECT_TRUE(target.target.all());
  EXPECT_EQ(target.duration_ns, 5'000'000'000u);
  const auto command =
      std::get<CollectOptions>(OptionsOf<ReportVerb>({"report", "--", "make", "-j"}));
  EXPECT_EQ(command.command, (std::vector<std::string>{"make", "-j"}));
}

TEST(ReportVerbTest, LabelsAreATargetOrAFilterOfTheHistory) {
  const auto target = std::get<CollectOptions>(
      OptionsOf<ReportVerb>({"report", "--service", "cart", "--label", "a=b", "-d", "1"}));
  ASSERT_EQ(target.target.labels().label_size(), 2);
  EXPECT_EQ(target.target.labels().label(0), "service.name=cart");
  const auto past = std::get<QueryOptions>(
      OptionsOf<ReportVerb>({"report", "2h..1h", "--service", "cart", "--label", "a=b"}));
  EXPECT_EQ(past.question.who, "label a=b, label service.name=cart");
  EXPECT_EQ(Refused({"report", "x.json", "--label", "a=b"}).message,
            "both a file and a target are named");
  EXPECT_EQ(Refused({"report", "12", "--service", "cart"}).message,
            "both process 12 and another target are named");
  EXPECT_EQ(Refused({"report", "--label", "a=b", "--unit", "nginx"}).message,
            "--unit is for the history, and no time of it is named");
}

TEST(ReportVerbTest, TakesARangeOfTheHistory) {
  const auto range = std::get<QueryOptions>(
      OptionsOf<ReportVerb>({"report", "2h..1h", "--unit", "nginx", "-p", "7", "--by", "wait"}));
  EXPECT_EQ(range.question.who, "pid 7, unit nginx");
  EXPECT_EQ(range.question.request.to_unix_ns() - range.question.request.from_unix_ns(),
            3'600'000'000'000u);
  EXPECT_EQ(range.output.question.keys[0]->name, "wait");
  const auto since = std::get<QueryOptions>(
      OptionsOf<ReportVerb>({"report", "--since", "10m", "--comm", "redis-server"}));
  EXPECT_EQ(since.question.request.since_ns(), 600'000'000'000u);
  EXPECT_EQ(since.question.who, "comm redis-server");
}

TEST(ReportVerbTest, OneSourceIsNamed) {
  EXPECT_EQ(Refused({"report", "out.json", "-p", "1"}).message,
            "both a file and a target are named");
  EXPECT_EQ(Refused({"report", "12", "-p", "1"}).message,
            "both process 12 and another target are named");
  EXPECT_NE(Refused({"report"}).hint.find("FILE.json"), std::string::npos);
  EXPECT_EQ(Refused({"report", "out.json", "--since", "1h"}).message,
            "both a file and a time of the history are named");
  EXPECT_EQ(Refused({"report", "2h..1h", "--since", "1h"}).message, "a range is named twice");
  EXPECT_EQ(Refused({"report", "2h..1h", "-d", "3"}).message,
            "-d, -t, -s and a command are for a collection, and a time of the history is named");
  EXPECT_EQ(Refused({"report", "out.json", "--unit", "x"}).message,
            "--unit is for the history, and no time of it is named");
}

TEST(ReportVerbTest, CountersAreOfTablesByOneKey) {
  const ReportQuestion question = OfFile({"--counters", "--sort", "misses"}).output.question;
  EXPECT_TRUE(question.counters);
  EXPECT_EQ(question.sort, "misses");
  (void)Refused({"report", "out.json", "--sort", "misses"});
  (void)Refused({"report", "out.json", "--counters", "--by", "function,thread"});
  (void)Refused({"report", "out.json", "--counters", "--tree"});
  (void)Refused({"report", "out.json", "--counters", "--steps"});
}

TEST(ReportVerbTest, QuestionsThatMakeNoSenseAreRefusedBeforeACollection) {
  EXPECT_EQ(Refused({"report", "1", "--by", "colour"}).message, "--by: no key is called 'colour'");
  EXPECT_EQ(Refused({"report", "1", "--filter", "wait ="}).message,
            "--filter, character 7: a value is missing before the end");
  EXPECT_EQ(Refused({"report", "1", "--sort", "time"}).message,
            "--sort: a table by function has no column 'time'");
  EXPECT_EQ(Refused({"report", "1", "--by", "thread,wait", "--sort", "time"}).message,
            "--sort is for tables by one key");
  EXPECT_EQ(Refused({"report", "1", "--limit", "0"}).message,
            "--limit 0: not a number of rows or levels");
  EXPECT_EQ(Refused({"report", "1", "--in", "hours"}).message, "--in hours: no such unit");
}

TEST(ProfileReportTest, FormatsAreChosenByFileOrByF) {
  EXPECT_EQ(*ProfileReportOf("-", ""), Report::kReport);
  EXPECT_EQ(*ProfileReportOf("-", "csv"), Report::kReportCsv);
  EXPECT_EQ(*ProfileReportOf("x.txt", ""), Report::kReport);
  EXPECT_EQ(*ProfileReportOf("x.json", ""), Report::kReportJson);
  EXPECT_EQ(ProfileReportOf("odd", "").error().message,
            "the extension of 'odd' names no format of report");
  EXPECT_EQ(ProfileReportOf("odd", "").error().hint,
            "use .csv, .json or .txt, or name one with -f");
  EXPECT_EQ(ProfileReportOf("-", "svg").error().message, "no format of report is called 'svg'");
}

TEST(ProfileReportTest, EachFormatIsWritten) {
  const v1::Profile profile = testing::TypicalProfile();
  for (const char* by : {"function", "thread,state"}) {
    const ReportQuestion question = OfFile({"--by", by}).output.question;
    const auto text = [&](Report report) {
      const auto rendered = RenderProfileReport(report, profile, question, {});
      EXPECT_TRUE(rendered);
      return rendered ? *rendered : "";
    };
    EXPECT_NE(text(Report::kReport).find("threads on average"), std::string::npos);
    EXPECT_TRUE(text(Report::kReportJson).starts_with("{"));
    EXPECT_EQ(text(Report::kReportCsv).find('\t'), std::string::npos);
  }
}

TEST(ProfileReportTest, CountersAreATableWhereThereAreSome) {
  ReportQuestion question;
  question.keys = *ParseReportKeys("function");
  question.counters = true;
  question.sort = "cycles";
  const auto counted =
      RenderProfileReport(Report::kReport, testing::CountedProfile(), question, {});
  ASSERT_TRUE(counted);
  EXPECT_NE(counted->find("CPI"), std::string::npos);
  const auto plain = RenderProfileReport(Report::kReport, testing::SmallProfile(), question, {});
  ASSERT_TRUE(plain);
  EXPECT_NE(plain->find("no hardware counters: "), std::string::npos);
}

TEST(ProfileReportTest, TreesAreWritten) {
  const v1::Profile profile = testing::TypicalProfile();
  const auto text = [&](std::vector<std::string> options, Report report) {
    const auto rendered =
        RenderProfileReport(report, profile, OfFile(std::move(options)).output.question, {});
    EXPECT_TRUE(rendered) << (rendered ? "" : rendered.error().message);
    return rendered ? *rendered : "";
  };
  const std::vector<std::string> sides{"--callers", "train_step", "--callees", "train_step"};
  EXPECT_NE(text(sides, Report::kReport).find("\n\ncallees of train_step (train.py)"),
            std::string::npos);
  EXPECT_NE(text(sides, Report::kReportCsv).find("\ncallees,"), std::string::npos);
  EXPECT_TRUE(text(sides, Report::kReportCsv).starts_with("side,depth,name,"));
  EXPECT_NE(text({"--tree"}, Report::kReport).find("main (train.py)"), std::string::npos);
  EXPECT_TRUE(text({"--tree"}, Report::kReportJson).starts_with("{"));
}

TEST(ProfileReportTest, SourcesAreReadWhereTheyAre) {
  const test::TempFolder folder;
  const std::string path = folder.Path("work.py");
  std::ofstream(path) << "def f():\n    compute()\n";
  testing::ProfileMaker maker;
  v1::Frame frame;
  frame.set_kind(v1::FRAME_PYTHON);
  frame.set_name("f");
  frame.set_file(path);
  frame.set_line(2);
  maker.AddFrames(maker.AddThread(1, "demo"), {frame}, testing::Running(10, 10));
  const ReportQuestion question = OfFile({"--annotate", "work.py"}).output.question;
  const auto text = RenderProfileReport(Report::kReport, maker.Make(), question, {});
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_NE(text->find("100.0 %   100.0 %      2       compute()\n"), std::string::npos) << *text;
  ASSERT_EQ(::unlink(path.c_str()), 0);
  EXPECT_EQ(RenderProfileReport(Report::kReport, maker.Make(), question, {}).error().code,
            ErrorCode::kNotFound);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(RenderProfileReport(Report::kReport, maker.Make(), question, {}).error().code,
            ErrorCode::kUnsupported);
}

TEST(ProfileReportTest, ThePlanRestrictsTheProfile) {
  OutputOptions options = OfFile({"--filter", "wait = lock"}).output;
  auto plan = OutputPlan::Make(options, false);
  ASSERT_TRUE(plan);
  const auto only = plan->Restrict(testing::SmallProfile());
  ASSERT_TRUE(only);
  EXPECT_EQ(only->samples().weight_ns_size(), 1);
  EXPECT_FALSE(plan->Restrict(testing::EmptyProfile()));
}

TEST(ProfileReportTest, LimitIsOfRows) {
  const v1::Profile profile = testing::TypicalProfile();
  const ReportQuestion question = OfFile({"--limit", "2"}).output.question;
  const auto csv = RenderProfileReport(Report::kReportCsv, profile, question, {});
  ASSERT_TRUE(csv);
  EXPECT_EQ(std::count(csv->begin(), csv->end(), '\n'), 3);
}

}  // namespace
}  // namespace profd::client
