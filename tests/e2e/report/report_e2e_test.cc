// profctl report of a real interpreter whose program knows the self and the total time of its
// functions.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tests/accuracy/statistics.h"
#include "tests/e2e/profctl.h"
#include "tests/support/interpreters.h"
#include "tests/support/paths.h"

namespace profd::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ReportTest : public ProfctlTest {
 protected:
  void SetUp() override {
    ProfctlTest::SetUp();
    if (IsSkipped()) return;
    for (const int minor : test::WantedMinors())
      for (const std::string& found : test::FindInterpreters(minor)) interpreter_ = found;
    if (interpreter_.empty()) GTEST_SKIP() << "no CPython on this machine";
  }

  // Collects while a Python program of this folder runs; what it says of itself goes to `truth`.
  void Collect(const std::string& name, const std::vector<std::string>& options, json& truth) {
    CollectFrom({interpreter_, test::SourceDirectory() + "/tests/e2e/report/" + name,
                 test::BinaryDirectory() + "/deploy"},
                options, truth);
  }

  // The same of any command; its first line goes to first_line_.
  void CollectFrom(const std::vector<std::string>& command, const std::vector<std::string>& options,
                   json& truth) {
    auto program = testing::Subprocess::Start(command, options_);
    ASSERT_TRUE(program) << program.error().message;
    const auto ready = program->ReadLine();
    ASSERT_TRUE(ready) << ready.error().message;
    first_line_ = *ready;
    main_thread_ = std::to_string(program->pid());
    std::vector<std::string> arguments{"collect", "-p", main_thread_, "-o", File("x.json")};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto outcome = Profctl(std::move(arguments));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    profile_ = ReadProfile(File("x.json"));
    program->WriteInput("end\n");
    const auto said = program->ReadLine();
    ASSERT_TRUE(said) << said.error().message;
    truth = json::parse(*said);
  }

  // The program that knows the time of its functions; that goes to truth_.
  void Collect() {
    json truth;
    ASSERT_NO_FATAL_FAILURE(Collect("known_shares.py", {"-d", "3", "-F", "299"}, truth));
    TakeTruth(truth);
  }

  void TakeTruth(const json& truth) {
    truth_.clear();
    // What of each interval lies inside the session.
    for (const auto& entry : truth) {
      const auto begin = std::max(entry[2].get<std::uint64_t>(), profile_.start_ns());
      const auto end = std::min(entry[3].get<std::uint64_t>(), profile_.end_ns());
      if (begin < end) truth_[entry[0]][entry[1]] += static_cast<double>(end - begin);
    }
  }

  // Each turn of the program is a step, and begins as near to where it says as the step claims.
  void CheckTurns(const json& truth, const json& report) const {
    // Its label is published between two readings of the clock.
    std::vector<std::pair<double, double>> begins;
    for (const auto& entry : truth)
      if (entry[0] == "turn") begins.emplace_back(entry[2], entry[4]);
    const json& rows = report["rows"];
    ASSERT_GT(rows.size(), 10u);
    const auto begin_of = [&](const json& row) {
      return row["begin_ns"].get<double>() + static_cast<double>(profile_.start_ns());
    };
    const auto first = std::ranges::min_element(
        begins, {}, [&](const auto& begin) { return std::abs(begin.first - begin_of(rows[0])); });
    ASSERT_LE(static_cast<std::ptrdiff_t>(rows.size()), begins.end() - first);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& [least, most] = first[static_cast<std::ptrdiff_t>(i)];
      const double reach = rows[i]["reach_ns"];
      EXPECT_GE(begin_of(rows[i]) + reach, least) << "step " << i + 1;
      EXPECT_LE(begin_of(rows[i]) - reach, most) << "step " << i + 1;
    }
  }

  [[nodiscard]] json Report(std::vector<std::string> more) const {
    std::vector<std::string> arguments{"report", File("x.json"), "-f",
                                       "json",   "--filter",     "thread = " + main_thread_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto outcome = Profctl(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code == 0 ? json::parse(outcome.out) : json{};
  }

  std::string interpreter_;
  std::string main_thread_;
  std::string first_line_;
  v1::Profile profile_;
  std::map<std::string, std::map<std::string, double>> truth_;  // ns by what and function
};

json RowOf(const json& report, const std::string& key, const std::string& name) {
  for (const json& row : report["rows"])
    if (row[key] == name) return row;
  ADD_FAILURE() << "no row " << name << " in " << report.dump(1);
  return {};
}

// The time of all rows, which is that of the report.
double SumOfRows(const json& report) {
  const char* column = report["rows"][0].contains("self_ns") ? "self_ns" : "ns";
  double sum = 0;
  for (const json& row : report["rows"]) sum += row[column].get<double>();
  EXPECT_EQ(sum, report["total_ns"].get<double>()) << report.dump(1);
  return sum;
}

// Within what chance explains for so many samples, also of shares near all of it.
void ExpectShare(double seen_ns, double true_ns, const json& report, const std::string& what) {
  const auto all = report["total_ns"].get<double>();
  const auto count = report["samples"].get<double>();
  const double share = true_ns / all;
  EXPECT_NEAR(seen_ns / all, share, accuracy::ShareBound(share, count)) << what;
}

TEST_F(ReportTest, SelfAndTotalAreThoseOfTheClockOfTheProgram) {
  ASSERT_NO_FATAL_FAILURE(Collect());
  const json functions = Report({"--by", "function"});
  ASSERT_GT(functions["samples"].get<int>(), 200);
  for (const char* function : {"outer", "inner", "walk"}) {
    const json row = RowOf(functions, "function", std::string(function) + " (known_shares.py)");
    ExpectShare(row["self_ns"].get<double>(), truth_["self"][function], functions,
                std::string("self of ") + function);
    ExpectShare(row["total_ns"].get<double>(), truth_["total"][function], functions,
                std::string("total of ") + function);
  }
  const json rest = RowOf(functions, "function", "rest (known_shares.py)");
  ExpectShare(rest["total_ns"].get<double>(), truth_["total"]["rest"], functions, "total of rest");
  // It does nothing but wait.
  ExpectShare(rest["total_blocked_ns"].get<double>(), truth_["total"]["rest"], functions,
              "blocked in rest");
}

TEST_F(ReportTest, RowsOfEveryKeyAddUpToTheElapsedTimeOfTheThread) {
  ASSERT_NO_FATAL_FAILURE(Collect());
  const auto elapsed = static_cast<double>(profile_.end_ns() - profile_.start_ns());
  for (const char* key :
       {"function", "line", "file", "module", "package", "caller", "callee", "thread", "process",
        "class", "operator", "phase", "cpu", "wait", "on-whom", "state"}) {
    const json report = Report({"--by", key});
    EXPECT_NEAR(SumOfRows(report), elapsed, 0.01 * elapsed) << key;
  }
}

TEST_F(ReportTest, TreesAndLinesHaveTheSameTimes) {
  ASSERT_NO_FATAL_FAILURE(Collect());
  const json functions = Report({"--by", "function"});
  const json walk = RowOf(functions, "function", "walk (known_shares.py)");
  const json sides = Report({"--callers", "walk", "--callees", "walk"});
  for (const json& row : sides["rows"])
    if (row["depth"] == 0) {
      EXPECT_EQ(row["total_ns"], walk["total_ns"]) << row["side"];
    }
  // All but what was not unwound.
  EXPECT_GT(RowOf(sides, "name", "outer (known_shares.py)")["total_ns"].get<double>(),
            0.9 * walk["total_ns"].get<double>());
  const json tree = Report({"--tree"});
  EXPECT_EQ(tree["rows"][0]["total_ns"], tree["total_ns"]);
  EXPECT_GT(
      RowOf(tree, "name", "outer (known_shares.py)")["total_ns"].get<double>(),
      0.9 * RowOf(functions, "function", "outer (known_shares.py)")["total_ns"].get<double>());
  // The program runs nowhere else, but for its begin and what was not unwound.
  const json lines = Report({"--annotate", "known_shares.py"});
  double self = 0;
  for (const json& row : lines["rows"]) self += row["self_ns"].get<double>();
  EXPECT_GT(self, 0.9 * lines["total_ns"].get<double>());
}

TEST_F(ReportTest, InstructionsHaveTheTimeOfTheLoopThatTheyAreIn) {
  if (::access("/usr/bin/objdump", X_OK) != 0) GTEST_SKIP() << "objdump is not installed";
  json truth;
  ASSERT_NO_FATAL_FAILURE(
      CollectFrom({TestProgram("known_code")}, {"-d", "3", "-F", "299"}, truth));
  TakeTruth(truth);
  const std::uint64_t middle = std::stoull(first_line_);
  const json code = Report({"--annotate", "KnownLoops"});
  std::map<std::string, double> seen_ns;
  double all_ns = 0;
  for (const json& row : code["rows"]) {
    EXPECT_NE(row["text"], "") << "objdump does not have it: " << row.dump();
    const auto ns = row["self_ns"].get<double>();
    seen_ns[row["offset"].get<std::uint64_t>() < middle ? "first" : "second"] += ns;
    all_ns += ns;
  }
  for (const char* loop : {"first", "second"})
    ExpectShare(seen_ns[loop], truth_["self"][loop], code, loop);
  EXPECT_EQ(all_ns, RowOf(Report({"--by", "function"}), "function", "KnownLoops")["self_ns"]);
  const auto hottest = std::ranges::max_element(
      code["rows"], {}, [](const json& row) { return row["self_ns"].get<std::uint64_t>(); });
  EXPECT_THAT((*hottest)["text"].get<std::string>(), ::testing::ContainsRegex("dec|jne"));
}

// The lines of train() in known_steps.py that call the three parts of a step.
std::vector<int> LinesOfParts() {
  std::ifstream source(test::SourceDirectory() + "/tests/e2e/report/known_steps.py");
  std::vector<int> lines;
  int number = 0;
  for (std::string line; std::getline(source, line);) {
    ++number;
    for (const char* call : {"        load_batch()", "        compute()", "        update()"})
      if (line == call) lines.push_back(number);
  }
  return lines;
}

TEST_F(ReportTest, StepsAreThoseOfTheProgram) {
  json truth;
  ASSERT_NO_FATAL_FAILURE(
      Collect("known_steps.py", {"-d", "5", "-F", "499", "--budget", "off"}, truth));
  const json report = Report({"--steps"});
  const json& rows = report["rows"];
  ASSERT_GT(rows.size(), 20u) << report.dump(1);
  // A step begins when the one before has ended and before it first reads the time. Where the line
  // fell back lies between two samples, which are `reach_ns` apart at most.
  const auto begins_there = [&](const json& row, const json& before, const json& step) {
    const double begin = row["begin_ns"].get<double>() + static_cast<double>(profile_.start_ns());
    const double reach = row["reach_ns"].get<double>();
    return begin + reach >= before[3].get<double>() && begin - reach <= step[0].get<double>();
  };
  std::size_t first = 1;
  while (first < truth.size() && !begins_there(rows[0], truth[first - 1], truth[first])) ++first;
  ASSERT_LT(first + rows.size(), truth.size()) << "no step begins there";
  std::array<double, 3> part_ns{};
  double all_ns = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const json& step = truth[first + i];
    EXPECT_TRUE(begins_there(rows[i], truth[first + i - 1], step))
        << "step " << i << ": " << rows[i].dump() << " is not " << step.dump();
    for (std::size_t part = 0; part < part_ns.size(); ++part)
      part_ns[part] += step[part + 1].get<double>() - step[part].get<double>();
    all_ns += truth[first + i + 1][0].get<double>() - step[0].get<double>();
  }
  const std::vector<int> lines = LinesOfParts();
  ASSERT_EQ(lines.size(), part_ns.size());
  for (std::size_t part = 0; part < lines.size(); ++part) {
    const std::string column = "line " + std::to_string(lines[part]) + " ns";
    double seen_ns = 0;
    for (const json& row : rows) seen_ns += row[column].get<double>();
    ExpectShare(seen_ns, part_ns[part] / all_ns * report["total_ns"].get<double>(), report, column);
  }
  // As a key they have the same samples, and what lies outside of them has a row, too.
  const json by_step = Report({"--by", "step"});
  const auto elapsed = static_cast<double>(profile_.end_ns() - profile_.start_ns());
  EXPECT_NEAR(SumOfRows(by_step), elapsed, 0.01 * elapsed);
  const json last = RowOf(by_step, "step", std::to_string(rows.size()));
  double last_ns = 0;
  for (const auto& [column, ns] : rows.back().items())
    if (column.starts_with("line ")) last_ns += ns.get<double>();
  EXPECT_EQ(last["ns"].get<double>(), last_ns);
}

TEST_F(ReportTest, LabelsAreThoseOfTheProgramInBothModes) {
  for (const bool hooks : {true, false}) {
    SCOPED_TRACE(hooks ? "hooks" : "snapshot mode");
    std::vector<std::string> options{"-d", "5", "-F", "299", "--budget", "off"};
    if (!hooks) options.emplace_back("--no-hooks");
    json truth;
    ASSERT_NO_FATAL_FAILURE(Collect("known_labels.py", options, truth));
    TakeTruth(truth);
    for (const auto& [name, values] : truth_) {
      const json report = Report({"--by", "label:" + name});
      double labelled_ns = 0;
      for (const auto& [value, ns] : values) {
        ExpectShare(RowOf(report, "label:" + name, value)["ns"].get<double>(), ns, report, value);
        labelled_ns += ns;
      }
      const json rest = RowOf(report, "label:" + name, "[no label]");
      ExpectShare(rest["ns"].get<double>(), report["total_ns"].get<double>() - labelled_ns, report,
                  "without " + name);
      EXPECT_EQ(report["rows"].size(), values.size() + 1) << report.dump(1);
    }
    ASSERT_NO_FATAL_FAILURE(CheckTurns(truth, Report({"--steps", "--step", "label:turn"})));
    const json load = RowOf(Report({"--by", "label:phase"}), "label:phase", "load");
    // It sleeps there. On a busy host it waits for a CPU after each of its sleeps.
    const double slept_ns = load["ns"].get<double>() - load["runnable_ns"].get<double>();
    EXPECT_GT(load["blocked_ns"].get<double>(), 0.9 * slept_ns) << load.dump(1);
  }
}

TEST_F(ReportTest, ATargetIsCollectedAndErrorsSayWhatIsWrong) {
  auto program = testing::Subprocess::Start(
      {interpreter_, test::SourceDirectory() + "/tests/e2e/report/known_shares.py"}, options_);
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_TRUE(program->ReadLine());
  const std::string pid = std::to_string(program->pid());
  const auto table = Profctl({"report", pid, "-d", "1", "--by", "state,thread"});
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("2.00 threads on average"));
  EXPECT_THAT(table.out, HasSubstr("100.0 %"));
  EXPECT_EQ(table.out.find('\x1b'), std::string::npos);
  const auto none = Profctl({"report", pid, "-d", "0.2", "--filter", "function = nowhere"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr("no sample fits"));
  const auto wrong = Profctl({"report", pid, "--filter", "function nowhere"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--filter, character 10"));
}

}  // namespace
}  // namespace profd::e2e
