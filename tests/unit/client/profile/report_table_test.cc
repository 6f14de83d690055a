#include "client/profile/report/report_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "client/format/exporter.h"
#include "client/profile/spinning.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using testing::Blocked;
using ::testing::ElementsAre;
using ::testing::Pair;
using testing::ProfileMaker;
using testing::Runnable;
using testing::Running;
using ::testing::UnorderedElementsAre;

constexpr std::uint64_t kMs = 1'000'000;

const ReportKey& Key(const std::string& name) {
  static std::map<std::string, ReportKeyRef> kept;  // tables refer to their keys
  const auto keys = ParseReportKeys(name);
  EXPECT_TRUE(keys) << name;
  return *(kept[name] = keys->front());
}

ReportTable By(const std::string& key, const v1::Profile& profile, bool kernel = false) {
  TableOptions options;
  options.kernel = kernel;
  return TableBy(Key(key), profile, options);
}

// Self and total in ms, by name.
std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> Ms(const ReportTable& table) {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> rows;
  for (const ReportRow& row : table.rows)
    rows[row.name] = {row.self.all().ns / kMs, row.total.all().ns / kMs};
  return rows;
}

std::vector<v1::Profile> Profiles() {
  return {testing::SmallProfile(),   testing::SpinningProfile(),     testing::TypicalProfile(),
          testing::WaitingProfile(), testing::ManyThreadsProfile(7), testing::LargeProfile(3000),
          testing::HostileProfile()};
}

// The same frame as a report names it: without lines and [i], which fold functions into one.
std::string WithoutSuffix(std::string name) {
  constexpr std::string_view kInlined = "_[i]";
  if (name.ends_with(kInlined)) name.resize(name.size() - kInlined.size());
  return name;
}

bool IsState(const std::string& name) {
  return name == "[spinning]" || name == "[runnable]" || name == "[runnable:gil-holder]" ||
         name.starts_with("[blocked");
}

// Self and total by function, and the sum, of folded stacks in us.
struct FoldedSums {
  std::map<std::string, std::uint64_t> self;
  std::map<std::string, std::uint64_t> total;
  std::map<std::string, std::uint64_t> by_state;
  std::uint64_t all = 0;
  std::size_t lines = 0;
};

FoldedSums FoldedOf(const v1::Profile& profile, bool kernel) {
  std::ostringstream text;
  ExportOptions options;
  options.lines = false;
  const auto exporter = ExporterByName("folded");
  EXPECT_TRUE(exporter);
  EXPECT_TRUE((*exporter)->write(profile, options, text));
  FoldedSums sums;
  std::istringstream lines(text.str());
  for (std::string line; std::getline(lines, line);) {
    const std::uint64_t us = std::stoull(line.substr(line.rfind(' ') + 1));
    std::istringstream parts(line.substr(0, line.rfind(' ')));
    std::vector<std::string> frames;
    for (std::string frame; std::getline(parts, frame, ';');)
      frames.push_back(WithoutSuffix(frame));
    frames.erase(frames.begin());  // the process
    std::string state = "working";
    if (!frames.empty() && IsState(frames.back())) {
      state = frames.back().substr(1, frames.back().find_first_of(":]") - 1);
      frames.pop_back();
    }
    if (!kernel)
      while (frames.size() > 1 && frames.back().ends_with("_[k]")) frames.pop_back();
    sums.self[frames.back()] += us;
    for (const std::string& name : std::set<std::string>(frames.begin(), frames.end()))
      sums.total[name] += us;
    sums.by_state[state] += us;
    sums.all += us;
    ++sums.lines;
  }
  return sums;
}

// Each line of the export is rounded to 1 us, up or down.
void ExpectNear(std::uint64_t ns, std::uint64_t us, const FoldedSums& sums,
                const std::string& name) {
  EXPECT_NEAR(static_cast<double>(ns), static_cast<double>(us) * 1e3,
              static_cast<double>(sums.lines) * 1e3)
      << name;
}

TEST(ReportTableTest, FunctionsHaveTheTimesOfTheFoldedExport) {
  for (const v1::Profile& profile : Profiles()) {
    for (const bool kernel : {false, true}) {
      const FoldedSums sums = FoldedOf(profile, kernel);
      const ReportTable table = By("function", profile, kernel);
      std::size_t with_self = 0;
      for (const ReportRow& row : table.rows) {
        ASSERT_TRUE(sums.total.contains(row.name)) << row.name;
        ExpectNear(row.total.all().ns, sums.total.at(row.name), sums, row.name);
        const auto self = sums.self.find(row.name);
        if (self == sums.self.end()) {
          EXPECT_EQ(row.self.all().ns, 0u) << row.name;
          continue;
        }
        ++with_self;
        ExpectNear(row.self.all().ns, self->second, sums, row.name);
      }
      EXPECT_EQ(table.rows.size(), sums.total.size());
      EXPECT_EQ(with_self, sums.self.size());
      ExpectNear(table.all.all().ns, sums.all, sums, "all");
    }
  }
}

TEST(ReportTableTest, StatesHaveTheTimesOfTheFoldedExport) {
  for (const v1::Profile& profile : Profiles()) {
    const FoldedSums sums = FoldedOf(profile, true);
    const ReportTable table = By("state", profile);
    EXPECT_EQ(table.rows.size(), sums.by_state.size());
    for (const ReportRow& row : table.rows)
      ExpectNear(row.self.all().ns, sums.by_state.at(row.name), sums, row.name);
  }
}

TEST(ReportTableTest, ThreadsHaveTheTimesOfTheirClocks) {
  const v1::Profile profile = testing::SpinningProfile();
  EXPECT_THAT(Ms(By("thread", profile)),
              UnorderedElementsAre(Pair("demo (4242)", Pair(2000, 2000)),
                                   Pair("worker (4243)", Pair(2000, 2000))));
  const auto spinning = SpinningOfThreads(profile);
  const ReportTable table = By("thread", profile);
  for (std::size_t i = 0; i < spinning.size(); ++i)
    EXPECT_EQ(table.rows[i].self[TimePart::kSpinning].ns, spinning[i].ns);
}

TEST(ReportTableTest, RowsOfEveryKeyAddUpToTheTimeOfAllSamples) {
  for (const v1::Profile& profile : Profiles()) {
    const SampledTime all = TimeOf(profile).all();
    for (const ReportKey& key : ReportKeys()) {
      SampledTime sum;
      for (const ReportRow& row : TableBy(key, profile, {}).rows) {
        EXPECT_FALSE(row.name.empty());
        EXPECT_GE(row.total.all().ns, row.self.all().ns) << row.name;
        EXPECT_LE(row.total.all().ns, all.ns) << row.name;
        sum += row.self.all();
      }
      EXPECT_EQ(sum.ns, all.ns) << key.name;
      EXPECT_EQ(sum.points, all.points) << key.name;
      EXPECT_EQ(sum.exact_ns, all.exact_ns) << key.name;
    }
  }
}

TEST(ReportTableTest, ARecursionCountsOnce) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  maker.Add(thread, {"main", "walk", "visit", "walk", "walk"}, Running(30, 30));
  maker.Add(thread, {"main", "walk"}, Running(10, 10));
  EXPECT_THAT(Ms(By("function", maker.Make())),
              UnorderedElementsAre(Pair("main", Pair(0, 40)), Pair("walk", Pair(40, 40)),
                                   Pair("visit", Pair(0, 30))));
  EXPECT_THAT(
      Ms(By("caller", maker.Make())),
      UnorderedElementsAre(Pair("main < [outermost]", Pair(0, 40)),
                           Pair("walk < main", Pair(10, 40)), Pair("visit < walk", Pair(0, 30)),
                           Pair("walk < visit", Pair(0, 30)), Pair("walk < walk", Pair(30, 30))));
  EXPECT_THAT(
      Ms(By("callee", maker.Make())),
      UnorderedElementsAre(Pair("main > walk", Pair(0, 40)), Pair("walk > visit", Pair(0, 30)),
                           Pair("visit > walk", Pair(0, 30)), Pair("walk > walk", Pair(0, 30)),
                           Pair("walk > [self]", Pair(40, 40))));
}

TEST(ReportTableTest, TheKernelIsPartOfWhatCalledItUnlessItIsWanted) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  maker.Add(thread, {"main", "read", "entry_[k]", "vfs_read_[k]"}, Blocked(v1::WAIT_IO, 40, 40));
  maker.Add(maker.AddThread(2, "kthread"), {"ret_from_fork_[k]", "kswapd_[k]"}, Running(20, 20));
  EXPECT_THAT(Ms(By("function", maker.Make())),
              UnorderedElementsAre(Pair("main", Pair(0, 40)), Pair("read", Pair(40, 40)),
                                   Pair("ret_from_fork_[k]", Pair(0, 20)),
                                   Pair("kswapd_[k]", Pair(20, 20))));
  EXPECT_THAT(Ms(By("function", maker.Make(), true)),
              ::testing::Contains(Pair("vfs_read_[k]", Pair(40, 40))));
}

v1::Frame PythonFrame(const std::string& name, const std::string& file, std::uint32_t line) {
  v1::Frame frame;
  frame.set_kind(v1::FRAME_PYTHON);
  frame.set_name(name);
  frame.set_file(file);
  frame.set_line(line);
  return frame;
}

TEST(ReportTableTest, LinesFilesModulesAndPackages) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  v1::Frame libc;
  libc.set_name("memcpy");
  libc.set_module("/lib/x86_64-linux-gnu/libc.so.6");
  const std::string numpy = "/usr/lib/python3/dist-packages/numpy/core/numeric.py";
  maker.AddFrames(thread,
                  {PythonFrame("main", "/srv/app/train.py", 3), PythonFrame("ones", numpy, 7),
                   PythonFrame("full", numpy, 9), libc},
                  Running(30, 30));
  maker.AddFrames(thread, {PythonFrame("main", "/srv/app/train.py", 4)}, Running(10, 10));
  maker.Add(thread, {}, Running(5, 5));
  const v1::Profile profile = maker.Make();
  EXPECT_THAT(Ms(By("line", profile)),
              UnorderedElementsAre(Pair("/srv/app/train.py:3", Pair(0, 30)),
                                   Pair("/srv/app/train.py:4", Pair(10, 10)),
                                   Pair(numpy + ":7", Pair(0, 30)), Pair(numpy + ":9", Pair(0, 30)),
                                   Pair("[no line: libc.so.6]", Pair(30, 30)),
                                   Pair("[no stack]", Pair(5, 5))));
  EXPECT_THAT(Ms(By("file", profile)),
              UnorderedElementsAre(
                  Pair("/srv/app/train.py", Pair(10, 40)), Pair(numpy, Pair(0, 30)),
                  Pair("[no file: libc.so.6]", Pair(30, 30)), Pair("[no stack]", Pair(5, 5))));
  EXPECT_THAT(
      Ms(By("module", profile)),
      UnorderedElementsAre(Pair("train", Pair(10, 40)), Pair("numpy.core.numeric", Pair(0, 30)),
                           Pair("libc.so.6", Pair(30, 30)), Pair("[no stack]", Pair(5, 5))));
  EXPECT_THAT(
      Ms(By("package", profile)),
      UnorderedElementsAre(Pair("/srv/app", Pair(10, 40)), Pair("numpy", Pair(0, 30)),
                           Pair("libc.so.6", Pair(30, 30)), Pair("[no stack]", Pair(5, 5))));
}

TEST(ReportTableTest, ClassesWaitsAndEndsOfWaits) {
  EXPECT_THAT(Ms(By("class", testing::SpinningProfile())),
              UnorderedElementsAre(Pair("[no rule]", Pair(600, 600)), Pair("spin", Pair(300, 300)),
                                   Pair("gpu-wait", Pair(100, 100)), Pair("runtime", Pair(50, 50)),
                                   Pair("[blocked]", Pair(2950, 2950))));
  EXPECT_THAT(Ms(By("wait", testing::SmallProfile())),
              UnorderedElementsAre(Pair("[working]", Pair(1680, 1680)),
                                   Pair("[runnable]", Pair(20, 20)), Pair("lock", Pair(300, 300)),
                                   Pair("sleep", Pair(1200, 1200)), Pair("io", Pair(800, 800))));
  EXPECT_THAT(Ms(By("on-whom", testing::WaitingProfile())),
              UnorderedElementsAre(
                  Pair("[working]", Pair(720, 720)), Pair("engine-worker, runs", Pair(620, 620)),
                  Pair("the disk", Pair(420, 420)), Pair("a timer", Pair(98, 98)),
                  Pair("[not followed yet]", Pair(42, 42)), Pair("[still waits]", Pair(20, 20)),
                  Pair("[wake-up not seen]", Pair(10, 10))));
}

TEST(ReportTableTest, OperatorsAndPhasesAreThoseOfTheStack) {
  const v1::Profile profile = testing::OperatorProfile();
  using Rows = std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>;
  EXPECT_EQ(Ms(By("operator", profile)),
            (Rows{{"aten::linear", {70, 70}}, {"[no operator]", {30, 30}}}));
  EXPECT_EQ(Ms(By("phase", profile)), (Rows{{"forward", {70, 70}}, {"[no phase]", {30, 30}}}));
}

TEST(ReportTableTest, LabelsAreThoseThatThreadsHavePublished) {
  const v1::Profile profile = testing::LabelledProfile();
  using Rows = std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>;
  EXPECT_EQ(Ms(By("label:step", profile)),
            (Rows{{"1", {20, 20}}, {"2", {30, 30}}, {"[no label]", {50, 50}}}));
  auto of_process = profile;
  for (auto& process : *of_process.mutable_processes()) (*process.mutable_labels())["step"] = "9";
  EXPECT_EQ(Ms(By("label:step", of_process)),
            (Rows{{"1", {20, 20}}, {"2", {30, 30}}, {"9", {50, 50}}}));
  EXPECT_EQ(Ms(By("label:phase", profile)), (Rows{{"load", {10, 10}}, {"[no label]", {90, 90}}}));
  EXPECT_EQ(Ms(By("label:step", testing::OperatorProfile())), (Rows{{"[no label]", {100, 100}}}));
  EXPECT_TRUE(ParseReportKeys("label:step,label:phase"));
  EXPECT_FALSE(ParseReportKeys("label:step,label:step"));
  EXPECT_FALSE(ParseReportKeys("label:"));
}

TEST(ReportTableTest, CpusAreThoseOfThreadsThatRun) {
  const v1::Profile profile = testing::SwitchesProfile();
  using Rows = std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>;
  EXPECT_EQ(Ms(By("cpu", profile)),
            (Rows{{"CPU 0", {40, 40}}, {"CPU 3", {60, 60}}, {"[blocked]", {100, 100}}}));
  EXPECT_EQ(Ms(By("cpu", testing::OperatorProfile())),
            (Rows{{"[no sample]", {90, 90}}, {"[blocked]", {10, 10}}}));
}

TEST(ReportTableTest, StolenTimeIsAPartOfItsOwn) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  maker.Add(thread, {"main"}, Running(90, 90));
  maker.Add(thread, {"[stolen]"}, Running(10, 0));
  const ReportTime all = TimeOf(maker.Make());
  EXPECT_EQ(all[TimePart::kWorking].ns, 90 * kMs);
  EXPECT_EQ(all[TimePart::kStolen].ns, 10 * kMs);
}

TEST(ReportTableTest, RowsAreSortedByAnyColumn) {
  ReportTable table = By("function", testing::SmallProfile());
  const auto first = [&](const std::string& column) {
    EXPECT_TRUE(SortRows(table, column)) << column;
    return table.rows.front().name;
  };
  EXPECT_EQ(first(""), "run");
  EXPECT_EQ(first("total"), "_start");
  EXPECT_EQ(first("working"), "compute");
  EXPECT_EQ(first("runnable"), "compute");
  EXPECT_EQ(first("samples"), "compute");
  EXPECT_EQ(first("name"), "_start");
  const auto wrong = SortRows(table, "size");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "--sort: a table by function has no column 'size'");
  EXPECT_NE(wrong.error().hint.find("self, total, running"), std::string::npos);
}

TEST(ReportTableTest, KeysAreNamed) {
  const auto keys = ParseReportKeys("function,state");
  ASSERT_TRUE(keys);
  EXPECT_EQ((*keys)[1]->name, "state");
  EXPECT_EQ(ParseReportKeys("fonction").error().message, "--by: no key is called 'fonction'");
  EXPECT_NE(ParseReportKeys("").error().hint.find("on-whom"), std::string::npos);
  EXPECT_EQ(ParseReportKeys("wait,wait").error().message, "--by: wait is named twice");
  EXPECT_EQ(ParseReportKeys("wait,state,class").error().message,
            "--by: more than two keys are named");
}

TEST(CrossTableTest, RowsAndColumnsAddUp) {
  for (const v1::Profile& profile : Profiles()) {
    const std::uint64_t all = TimeOf(profile).all().ns;
    for (const ReportKey& rows : ReportKeys()) {
      for (const ReportKey& columns : ReportKeys()) {
        if (&rows == &columns) continue;
        const CrossTable whole = CrossBy(rows, columns, profile, {});
        EXPECT_LE(whole.columns.size(), kMostColumns);
        const CrossTable table = WithColumns(whole, 4);
        ASSERT_LE(table.columns.size(), 4u);
        std::uint64_t sum = 0;
        std::vector<std::uint64_t> sums(table.columns.size(), 0);
        for (const CrossRow& row : table.rows) {
          std::uint64_t of_row = 0;
          for (std::size_t i = 0; i < row.cells.size(); ++i) {
            of_row += row.cells[i].ns;
            sums[i] += row.cells[i].ns;
          }
          ASSERT_EQ(of_row, row.all.ns) << row.name;
          sum += of_row;
        }
        for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(sums[i], table.sums[i].ns);
        EXPECT_EQ(sum, all);
        EXPECT_EQ(table.all.ns, all);
      }
    }
  }
}

TEST(CrossTableTest, HasTheTimesOfItsKeys) {
  const CrossTable table =
      CrossBy(Key("thread"), Key("wait"), testing::SmallProfile(), TableOptions{});
  EXPECT_THAT(table.columns, ElementsAre("[working]", "sleep", "io", "lock", "[runnable]"));
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].name, "demo (4242)");
  EXPECT_EQ(table.rows[0].cells[3].ns, 300 * kMs);
  EXPECT_EQ(table.rows[1].cells[1].ns, 1200 * kMs);
  EXPECT_EQ(table.rows[1].cells[0].ns, 0u);
  const CrossTable narrow = WithColumns(table, 2);
  EXPECT_THAT(narrow.columns, ElementsAre("[working]", "other"));
  EXPECT_EQ(narrow.rows[1].cells[1].ns, 2000 * kMs);
}

}  // namespace
}  // namespace profd::client
