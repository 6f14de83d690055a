// profctl report --steps of a program that knows its steps: each of them is seen, and where it
// began and ended lies between what the program read of the clock just before and just after.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bpf/shared/steps.h"
#include "tests/e2e/profctl.h"

namespace profd::e2e {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;

// The calls of step_truth, of which it has the time before and after.
enum Call : std::size_t { kDataBegin, kDataEnd, kOptimizerBegin, kOptimizerEnd, kWork };
constexpr std::uint64_t kMs = 1'000'000;

class StepsTest : public ProfctlTest {
 protected:
  // Collects 2 s of the program; what it says of itself goes to truth_.
  void Collect(const std::vector<std::string>& options) {
    auto program = testing::Subprocess::Start({TestProgram("step_truth")}, options_);
    ASSERT_TRUE(program) << program.error().message;
    ASSERT_TRUE(program->ReadLine());
    std::vector<std::string> arguments{
        "collect", "-p", std::to_string(program->pid()), "-d", "2", "-o", File("x.json")};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto outcome = Profctl(std::move(arguments));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    profile_ = ReadProfile(File("x.json"));
    program->WriteInput("end\n");
    const auto said = program->ReadLine();
    ASSERT_TRUE(said) << said.error().message;
    truth_ = json::parse(*said);
  }
  [[nodiscard]] std::uint64_t Before(std::size_t step, Call call) const {
    return truth_[step][2 * call].get<std::uint64_t>();
  }
  [[nodiscard]] std::uint64_t After(std::size_t step, Call call) const {
    return truth_[step][2 * call + 1].get<std::uint64_t>();
  }
  [[nodiscard]] json Report(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"report", File("x.json"), "--steps", "-f", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto outcome = Profctl(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code == 0 ? json::parse(outcome.out) : json{};
  }
  [[nodiscard]] std::uint64_t BeginOf(const json& row) const {
    return row["begin_ns"].get<std::uint64_t>() + profile_.start_ns();
  }
  // The step of the program in which the row begins: at the end of this call.
  [[nodiscard]] std::size_t StepOf(const json& row, Call call) const {
    for (std::size_t i = 0; i < truth_.size(); ++i)
      if (Before(i, call) <= BeginOf(row) && BeginOf(row) <= After(i, call)) return i;
    ADD_FAILURE() << "no step begins there: " << row.dump();
    return 0;
  }
  // Each call inside the session begins or ends a step, and no other one does.
  void CheckBorders(const json& rows, Call call) const {
    ASSERT_GT(rows.size(), 20u);
    const std::size_t first = StepOf(rows[0], call);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_LT(first + i + 1, truth_.size());
      EXPECT_GE(BeginOf(rows[i]), Before(first + i, call));
      EXPECT_LE(BeginOf(rows[i]), After(first + i, call));
      const std::uint64_t end_ns = BeginOf(rows[i]) + rows[i]["ns"].get<std::uint64_t>();
      EXPECT_GE(end_ns, Before(first + i + 1, call));
      EXPECT_LE(end_ns, After(first + i + 1, call));
      EXPECT_EQ(rows[i]["reach_ns"], 0);
    }
    // The end of what began before the session has no name.
    const Call began = call == kOptimizerEnd ? kOptimizerBegin : call;
    EXPECT_TRUE(first == 0 || Before(first - 1, began) < profile_.start_ns());
    const std::size_t last = first + rows.size();
    EXPECT_TRUE(last + 1 == truth_.size() || After(last + 1, call) >= profile_.end_ns());
  }

  v1::Profile profile_;
  json truth_;
};

TEST_F(StepsTest, PyTorchsOwnAreExactAndSoAreTheirParts) {
  ASSERT_NO_FATAL_FAILURE(Collect({}));
  const json rows = Report({})["rows"];
  ASSERT_NO_FATAL_FAILURE(CheckBorders(rows, kOptimizerEnd));
  const std::size_t first = StepOf(rows[0], kOptimizerEnd);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t step = first + i + 1;
    const auto between = [&](const char* column, Call from, Call to) {
      const auto ns = rows[i][column].get<std::uint64_t>();
      EXPECT_GE(ns, Before(step, to) - After(step, from)) << column << " of " << i;
      EXPECT_LE(ns, After(step, to) - Before(step, from)) << column << " of " << i;
    };
    between("data_ns", kDataBegin, kDataEnd);
    between("forward_backward_ns", kDataEnd, kOptimizerBegin);
    between("tail_ns", kOptimizerBegin, kOptimizerEnd);
    EXPECT_EQ(rows[i]["gap_ns"].get<std::uint64_t>() +
                  rows[i]["forward_backward_ns"].get<std::uint64_t>() +
                  rows[i]["tail_ns"].get<std::uint64_t>(),
              rows[i]["ns"].get<std::uint64_t>());
  }
}

TEST_F(StepsTest, NamedCallsAreAsManyAndAsLongAsTheProgramSays) {
  ASSERT_NO_FATAL_FAILURE(Collect({}));
  const auto outcome = Profctl({"report", File("x.json"), "--exact", "-f", "json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::size_t compared = 0;
  const json report = json::parse(outcome.out);
  for (const json& row : report["rows"]) {
    const bool data = row["name"].get<std::string>().starts_with("enumerate(DataLoader)#");
    const Call begin = data ? kDataBegin : kOptimizerBegin;
    const Call end = data ? kDataEnd : kOptimizerEnd;
    // Those that both began and ended in the session, and at most so many more: at its borders.
    std::size_t least = 0;
    std::size_t most = 0;
    std::uint64_t least_ns = 0;
    std::uint64_t most_ns = 0;
    for (std::size_t step = 0; step < truth_.size(); ++step) {
      const bool may =
          After(step, begin) >= profile_.start_ns() && Before(step, end) <= profile_.end_ns();
      const bool must =
          Before(step, begin) >= profile_.start_ns() && After(step, end) <= profile_.end_ns();
      least += must ? 1 : 0;
      most += may ? 1 : 0;
      least_ns += must ? Before(step, end) - After(step, begin) : 0;
      most_ns += may ? After(step, end) - Before(step, begin) : 0;
    }
    EXPECT_GE(row["ended"].get<std::size_t>(), least) << row.dump();
    EXPECT_LE(row["ended"].get<std::size_t>(), most) << row.dump();
    EXPECT_GE(row["total_ns"].get<std::uint64_t>(), least_ns) << row.dump();
    EXPECT_LE(row["total_ns"].get<std::uint64_t>(), most_ns) << row.dump();
    EXPECT_EQ(row["total_ns"], row["self_ns"]) << "none is inside of another one";
    ++compared;
  }
  EXPECT_EQ(compared, 2u);
  EXPECT_THAT(Profctl({"report", File("x.json"), "--exact"}).out, HasSubstr("exact; self:"));
}

// Each call that both began and ended in the session, as long as the program says.
TEST_F(StepsTest, CallsThatEndByTheirObjectsAreAsLongAsTheProgramSays) {
  auto program = testing::Subprocess::Start({TestProgram("call_truth")}, options_);
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_TRUE(program->ReadLine());
  const auto outcome = Profctl({"collect", "-p", std::to_string(program->pid()), "-d", "1",
                                "--step", "calls", "-o", File("x.json")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  profile_ = ReadProfile(File("x.json"));
  program->WriteInput("end\n");
  const auto said = program->ReadLine();
  ASSERT_TRUE(said) << said.error().message;
  truth_ = json::parse(*said);
  const auto report = Profctl({"report", File("x.json"), "--exact", "-f", "json"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  struct Named {
    std::string name;
    std::size_t begin;  // of its columns in the truth
    std::size_t end;
  };
  const std::vector<Named> all{
      {"outer", 0, 2}, {"late", 1, 3}, {std::string(PROFD_STEP_NAME_BYTES, 'o') + "...", 4, 5}};
  const json rows = json::parse(report.out)["rows"];
  ASSERT_EQ(rows.size(), all.size()) << rows.dump(1);
  for (const json& row : rows) {
    const auto named = std::ranges::find(all, row["name"].get<std::string>(), &Named::name);
    ASSERT_NE(named, all.end()) << row.dump();
    std::size_t least = 0;
    std::size_t most = 0;
    std::uint64_t least_ns = 0;
    std::uint64_t most_ns = 0;
    for (const json& round : truth_) {
      const auto at = [&](std::size_t column) { return round[column].get<std::uint64_t>(); };
      const auto begin = std::pair(at(2 * named->begin), at(2 * named->begin + 1));
      const auto end = std::pair(at(2 * named->end), at(2 * named->end + 1));
      if (begin.second >= profile_.start_ns() && end.first <= profile_.end_ns()) {
        ++most;
        most_ns += end.second - begin.first;
      }
      if (begin.first >= profile_.start_ns() && end.second <= profile_.end_ns()) {
        ++least;
        least_ns += end.first - begin.second;
      }
    }
    EXPECT_GT(least, 20u);
    EXPECT_GE(row["ended"].get<std::size_t>(), least) << row.dump();
    EXPECT_LE(row["ended"].get<std::size_t>(), most) << row.dump();
    EXPECT_GE(row["total_ns"].get<std::uint64_t>(), least_ns) << row.dump();
    EXPECT_LE(row["total_ns"].get<std::uint64_t>(), most_ns) << row.dump();
  }
}

TEST_F(StepsTest, ACommandIsWatchedAndItsSlowStepsAreExplained) {
  const auto outcome =
      Profctl({"report", "--steps", "-f", "json", "--", TestProgram("step_truth"), "150"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto report_at = outcome.out.find("\n{");
  ASSERT_NE(report_at, std::string::npos) << outcome.out;
  // It maps the library some time after the session has begun: the first steps may be missed. Two
  // of the last 50 are longer on purpose, 8 steps apart.
  const json rows = json::parse(outcome.out.substr(report_at))["rows"];
  ASSERT_GT(rows.size(), 50u);
  std::vector<std::size_t> slow;
  std::vector<std::size_t> starved;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i]["forward_backward_ns"] >= 60 * kMs) slow.push_back(rows.size() - i);
    if (rows[i]["data_ns"] >= 60 * kMs) starved.push_back(rows.size() - i);
  }
  EXPECT_THAT(slow, Contains(50u));
  EXPECT_THAT(starved, Contains(42u));
}

TEST_F(StepsTest, AFunctionOrAStaticProbeMayBeginThem) {
  ASSERT_NO_FATAL_FAILURE(Collect({"--step", "uprobe:libtorch_cpu.so:work_step"}));
  CheckBorders(Report({})["rows"], kWork);
  const auto table = Profctl({"report", File("x.json"), "--steps"});
  EXPECT_THAT(table.out, HasSubstr("from one begin of uprobe:libtorch_cpu.so:work_step"));
  ASSERT_NO_FATAL_FAILURE(Collect({"--step", "usdt:libtorch_cpu.so:trainer:step"}));
  EXPECT_GT(Report({})["rows"].size(), 20u);
}

TEST_F(StepsTest, WhatIsWrongIsSaid) {
  auto program = testing::Subprocess::Start({TestProgram("step_truth")}, options_);
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_TRUE(program->ReadLine());
  const std::string pid = std::to_string(program->pid());
  const auto refused = [&](const std::string& step) {
    const auto outcome =
        Profctl({"collect", "-p", pid, "-d", "0.2", "--step", step, "-o", File("y.json")});
    EXPECT_NE(outcome.exit_code, 0) << step;
    return outcome.err;
  };
  EXPECT_THAT(refused("uprobe:libno_such.so:f"), HasSubstr("has mapped libno_such.so"));
  EXPECT_THAT(refused("uprobe:libtorch_cpu.so:no_such"), HasSubstr("no function no_such"));
  EXPECT_THAT(refused("uprobe:libtorch_cpu.so"), HasSubstr("does not say where steps begin"));
  EXPECT_THAT(refused("sometimes"), HasSubstr("it is auto, calls, loop, none"));
}

}  // namespace
}  // namespace profd::e2e
