// profctl threads of a program that knows how many of its threads wanted a CPU at each instant.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tests/accuracy/statistics.h"
#include "tests/e2e/profctl.h"

namespace profd::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr int kThreads = 4;
// Comparisons of this test: a level each, from none to all and the controller, and one mean.
constexpr double kChance = 0.001 / (kThreads + 3);
// The kernel dates a switch that a wake-up causes so long before the hook that sees it; see
// bpf/README.md.
constexpr double kBorderNs = 1'500;

class ThreadsTest : public ProfctlTest {
 protected:
  void Start() {
    auto program = testing::Subprocess::Start(
        {TestProgram("together"), "--threads", std::to_string(kThreads)}, options_);
    ASSERT_TRUE(program) << program.error().message;
    const auto ready = program->ReadLine();
    ASSERT_TRUE(ready) << ready.error().message;
    pid_ = std::to_string(program->pid());
    program_.emplace(std::move(*program));
  }

  json Threads(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"threads", "-f", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto outcome = Profctl(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code == 0 ? json::parse(outcome.out) : json{};
  }

  std::optional<testing::Subprocess> program_;
  std::string pid_;
};

// How long so many threads wanted a CPU in the session, and how much of that is not certain.
struct WantedTime {
  std::map<int, double> ns;
  double uncertain_ns = 0;
};

WantedTime WantedIn(const json& truth, double begin_ns, double end_ns) {
  WantedTime time;
  std::map<double, int> changes;
  const auto add = [&](double from_ns, double to_ns, int change) {
    from_ns = std::clamp(from_ns, begin_ns, end_ns);
    to_ns = std::clamp(to_ns, begin_ns, end_ns);
    changes[(from_ns + to_ns) / 2] += change;
    if (from_ns > begin_ns && from_ns < end_ns) time.uncertain_ns += to_ns - from_ns + kBorderNs;
  };
  for (const json& thread : truth["threads"]) {
    for (const json& wanted : thread["wanted"]) {
      add(wanted[0], wanted[1], 1);
      add(wanted[2], wanted[3], -1);
    }
  }
  int threads = 0;
  double since_ns = begin_ns;
  for (const auto& [at_ns, change] : changes) {
    time.ns[threads] += at_ns - since_ns;
    since_ns = at_ns;
    threads += change;
  }
  time.ns[threads] += end_ns - since_ns;
  return time;
}

// The share of the session in which a thread leaves a CPU, or one comes.
double LeavingOf(const json& report) {
  double switches = 0;
  for (const json& thread : report["threads"])
    switches +=
        thread["voluntary_switches"].get<double>() + thread["involuntary_switches"].get<double>();
  return switches * kBorderNs / report["length_ns"].get<double>();
}

TEST_F(ThreadsTest, WhatWantedACpuAtOnceIsWhatTheProgramSays) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const auto collected =
      Profctl({"collect", "-p", pid_, "-d", "4", "-F", "499", "-o", File("x.json")});
  ASSERT_EQ(collected.exit_code, 0) << collected.err;
  program_->WriteInput("end\n");
  const auto line = program_->ReadLine();
  ASSERT_TRUE(line) << line.error().message;
  const json truth = json::parse(*line);
  const v1::Profile profile = ReadProfile(File("x.json"));
  const json report = Threads({File("x.json")});
  ASSERT_EQ(report["processes"].size(), 1u);
  const json& process = report["processes"][0];
  const auto points = process["points"].get<double>();
  ASSERT_GT(points, 0);

  const auto length_ns = static_cast<double>(profile.end_ns() - profile.start_ns());
  const WantedTime wanted = WantedIn(truth, static_cast<double>(profile.start_ns()),
                                     static_cast<double>(profile.end_ns()));
  std::map<int, double> seen;
  double running = 0;
  double all_running = 0;
  for (const json& level : process["at_once"]) {
    const int threads = level["threads"];
    seen[threads] = level["wanting"].get<double>() / points;
    running += threads * level["running"].get<double>() / points;
    all_running += level["running"].get<double>();
  }
  EXPECT_EQ(all_running, points);
  for (int threads = 0; threads <= kThreads + 1; ++threads) {
    const auto known = wanted.ns.find(threads);
    const double share = known == wanted.ns.end() ? 0 : known->second / length_ns;
    // Each instant that is not certain can move time from one level to the next.
    const double bound =
        accuracy::ShareBound(share, points, kChance) + wanted.uncertain_ns / length_ns;
    EXPECT_NEAR(seen[threads], share, bound) << threads << " threads";
  }
  // No more run than there are CPUs: as a share of them, the mean has the error of a share.
  double running_ns = 0;
  for (const char* part : {"working_ns", "spinning_ns", "stolen_ns"})
    running_ns += process[part].get<double>();
  const auto cpus = report["cpus"].get<double>();
  const double mean = running_ns / length_ns;
  EXPECT_NEAR(running, mean,
              cpus * accuracy::ShareBound(mean / cpus, points, kChance) + LeavingOf(report));
}

TEST_F(ThreadsTest, PartsOfEachThreadAddUpToItsTime) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const json report = Threads({"-p", pid_, "-d", "1"});
  // Those that want CPUs, the controller, and the one that reads.
  ASSERT_EQ(report["threads"].size(), kThreads + 2u);
  for (const json& thread : report["threads"]) {
    std::uint64_t sum = 0;
    for (const char* part : {"working_ns", "spinning_ns", "runnable_ns", "blocked_ns", "stolen_ns"})
      sum += thread[part].get<std::uint64_t>();
    EXPECT_EQ(sum, thread["elapsed_ns"].get<std::uint64_t>()) << thread.dump();
    EXPECT_EQ(thread["runnable_ns"].get<std::uint64_t>(),
              thread["runnable_woken_ns"].get<std::uint64_t>() +
                  thread["runnable_preempted_ns"].get<std::uint64_t>());
  }
}

TEST_F(ThreadsTest, AllowedCpusAreThoseOfTheAffinity) {
  const std::vector<std::string> command = {"taskset", "-c", "0", TestProgram("together")};
  auto program = testing::Subprocess::Start(command, options_);
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_TRUE(program->ReadLine());
  const json report = Threads({"-p", std::to_string(program->pid()), "-d", "1"});
  ASSERT_EQ(report["processes"].size(), 1u);
  const json& process = report["processes"][0];
  EXPECT_EQ(process["usable_cpus"], 1);
  EXPECT_EQ(process["usable_by"], report["cpus"] == 1 ? "host" : "affinity");
  // Two at once on one CPU are seen only while one leaves it for the other.
  double two = 0;
  for (const json& level : process["at_once"])
    if (level["threads"] > 1) two += level["running"].get<double>();
  const auto points = process["points"].get<double>();
  const double leaving = LeavingOf(report);
  EXPECT_LE(two / points, leaving + accuracy::ShareBound(leaving, points, kChance));
  for (const json& thread : report["threads"])
    EXPECT_TRUE(thread["cpus"] == "0" || thread["cpus"] == "") << thread.dump();
  // Up to four threads want this one CPU most of the time.
  const auto oversubscribed = std::ranges::find_if(
      report["advice"], [](const json& advice) { return advice["kind"] == "oversubscribed"; });
  ASSERT_NE(oversubscribed, report["advice"].end()) << report.dump(1);
  EXPECT_THAT((*oversubscribed)["text"].get<std::string>(), HasSubstr("1 CPU"));
}

TEST_F(ThreadsTest, TablesAndCsvGoToStandardOutput) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const auto table = Profctl({"threads", pid_, "-d", "1"});
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("threads on average"));
  EXPECT_THAT(table.out, HasSubstr("threads at once, shares of "));
  EXPECT_THAT(table.out, HasSubstr("wanting a CPU"));
  EXPECT_EQ(table.out.find('\x1b'), std::string::npos);
  const auto csv = Profctl({"threads", pid_, "-d", "1", "-f", "csv"});
  ASSERT_EQ(csv.exit_code, 0) << csv.err;
  EXPECT_TRUE(csv.out.starts_with("pid,process,tid,thread,")) << csv.out;
  const auto no_wakers =
      Profctl({"collect", "-p", pid_, "-d", "0.5", "--no-wakers", "-o", File("without.json")});
  ASSERT_EQ(no_wakers.exit_code, 0) << no_wakers.err;
  const auto without = Profctl({"threads", File("without.json")});
  ASSERT_EQ(without.exit_code, 0) << without.err;
  EXPECT_THAT(without.out, HasSubstr("not known how many threads ran at once"));
}

}  // namespace
}  // namespace profd::e2e
