// The history of a running profd: what a program with known phases did, requested afterwards.
#include <signal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "daemon/base/clock.h"
#include "tests/accuracy/statistics.h"
#include "tests/e2e/running_daemon.h"
#include "tests/support/eventually.h"

namespace profd::e2e {
namespace {

constexpr double kMaxClosure = 0.001;
constexpr std::uint64_t kTick = 10'000'000;  // of the slowest kernel

class HistoryTest : public RunningDaemonTest {
 protected:
  // `compact`: of --history-compact.
  [[nodiscard]] std::optional<testing::Subprocess> StartKeeping(
      const std::string& compact = "1m") const {
    return StartDaemon({"--history-directory", File("history"), "--history-window", "2s",
                        "--history-compact", compact,
                        // The shares below want samples, however busy the machine is.
                        "--history-budget", "0"});
  }
  static void StopKeeping(testing::Subprocess& daemon) {
    const std::string words = Stop(daemon);
    EXPECT_EQ(words.find("is lost"), std::string::npos) << words;
  }
  [[nodiscard]] testing::Outcome Ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin() + 1, {"--host", host_});
    return Profctl(std::move(arguments));
  }
  // The end of the last window that is kept; the time of day in ns.
  [[nodiscard]] std::uint64_t KeptUntil() const {
    const auto status = nlohmann::json::parse(Ask({"status", "--json"}).out, nullptr, false);
    if (status.is_discarded()) return 0;
    // A number where a double holds it, as 0.
    const auto& last = status["history"]["last_unix_ns"];
    return last.is_string() ? std::stoull(last.get<std::string>()) : last.get<std::uint64_t>();
  }
  // "2026-11-20T14:05:00Z"; what is less than a second is cut.
  static std::string Rfc3339(std::uint64_t unix_ns) {
    const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
    std::tm time{};
    ::gmtime_r(&seconds, &time);
    std::array<char, 32> text{};
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &time)};
  }
  // Runs the program; the end of the last window that has it.
  [[nodiscard]] std::uint64_t RunAndKeep(const char* compute_ms, const char* sleep_ms) const {
    const auto program = testing::Run({TestProgram("phases"), "--seconds", "4", "--fsyncs", "0",
                                       "--compute", compute_ms, "--sleep", sleep_ms});
    EXPECT_EQ(program.exit_code, 0) << program.err;
    const auto ended_unix_ns = SystemClock().RealtimeNs();
    EXPECT_TRUE(test::Eventually([&] { return KeptUntil() >= ended_unix_ns; }));
    return KeptUntil();
  }
  // What the worker of tests/testprogs/phases says of itself.
  static nlohmann::json WorkerOf(const std::string& report) {
    const auto parsed = nlohmann::json::parse(report);
    for (const auto& thread : parsed["threads"])
      if (thread["name"] == "worker") return thread;
    return {};
  }
};

void ExpectCloses(const v1::Profile& profile) {
  for (const auto& thread : profile.threads()) {
    EXPECT_FALSE(thread.clock_missing()) << thread.comm();
    EXPECT_LE(std::fabs(thread.closure_error()), kMaxClosure) << thread.comm();
  }
}

TEST_F(HistoryTest, ShowsTheSharesOfKnownPhasesAfterARestartToo) {
  auto daemon = StartKeeping();
  ASSERT_TRUE(daemon.has_value());
  // profd serves before the session of the history runs.
  ASSERT_TRUE(test::Eventually(
      [&] { return Ask({"status"}).out.find("19 Hz in windows") != std::string::npos; }));
  const auto before_ns = SystemClock().MonotonicNs();
  const auto program =
      testing::Run({TestProgram("phases"), "--seconds", "12", "--file", File("synced")});
  ASSERT_EQ(program.exit_code, 0) << program.err;
  const auto ended_unix_ns = SystemClock().RealtimeNs();
  const auto around_ns = SystemClock().MonotonicNs() - before_ns;
  const auto report = nlohmann::json::parse(program.out);
  const auto worker = WorkerOf(program.out);
  const std::string pid = std::to_string(report["pid"].get<int>());
  // On a busy host profd needs a while to symbolize a new program.
  ASSERT_TRUE(test::Eventually([&] { return KeptUntil() >= ended_unix_ns; }));
  StopKeeping(*daemon);

  auto again = StartKeeping();
  ASSERT_TRUE(again.has_value());
  const auto requested = Ask({"query", "--since", "1h", "-p", pid, "-o", File("past.json")});
  ASSERT_EQ(requested.exit_code, 0) << requested.err;
  const auto profile = ReadProfile(File("past.json"));
  ASSERT_EQ(profile.processes_size(), 1);
  EXPECT_EQ(profile.processes(0).comm(), "phases");
  EXPECT_EQ(profile.processes(0).user(), "root");
  EXPECT_FALSE(profile.processes(0).build_id().empty());
  ExpectCloses(profile);

  // A filter leaves what the file has of it.
  const std::string reading = "function = phases::ReadPipe and state = blocked";
  const auto filtered =
      Ask({"query", "--since", "1h", "-p", pid, "--filter", reading, "-o", File("part.json")});
  ASSERT_EQ(filtered.exit_code, 0) << filtered.err;
  std::uint64_t whole_ns = 0;
  for (const auto& [wait, ns] : TimeIn(profile, "phases::ReadPipe").blocked_ns) whole_ns += ns;
  const auto part = ReadProfile(File("part.json"));
  EXPECT_EQ(part.filter(), reading);
  std::uint64_t part_ns = 0;
  for (const std::uint64_t ns : part.samples().weight_ns()) part_ns += ns;
  EXPECT_EQ(part_ns, whole_ns);
  const auto listed = nlohmann::json::parse(
      Ask({"list", "--since", "1h", "-p", pid, "--filter", reading, "--json"}).out);
  ASSERT_EQ(listed["rows"].size(), 1u) << listed.dump(1);
  EXPECT_EQ(listed["rows"][0]["blocked_ns"], whole_ns);

  // Exact: its life, and the CPU time of its worker, which knows neither its first nor its last
  // instructions. The kernel's account of CPU time is a tick late at either end.
  const std::uint64_t life_ns =
      worker["end_ns"].get<std::uint64_t>() - worker["begin_ns"].get<std::uint64_t>();
  const auto found = std::ranges::find(profile.threads(), worker["tid"].get<std::uint32_t>(),
                                       [](const v1::Thread& thread) { return thread.tid(); });
  ASSERT_NE(found, profile.threads().end());
  const std::uint64_t sum_ns = ClockSum(found->clock());
  EXPECT_GE(sum_ns, life_ns);
  EXPECT_LE(sum_ns, around_ns);
  const auto cpu_ns = worker["cpu_ns"].get<std::uint64_t>();
  EXPECT_GE(found->clock().on_cpu_ns() + kTick, cpu_ns);
  EXPECT_LE(found->clock().on_cpu_ns(), cpu_ns + (sum_ns - life_ns) + 2 * kTick);

  // Sampled: its waits, as near as so many samples can be.
  double waited_ns = 0;
  double seen_ns = 0;
  double samples = 0;
  for (const auto& phase : worker["phases"]) {
    waited_ns += phase["wall_ns"].get<double>() - phase["cpu_ns"].get<double>();
    const auto time = TimeIn(profile, phase["function"]);
    for (const auto& [wait, ns] : time.blocked_ns) seen_ns += static_cast<double>(ns);
    samples += static_cast<double>(time.samples);
  }
  ASSERT_GT(samples, 78);  // of 179 sampling points in 12 s
  const auto& clock = found->clock();
  const auto runnable_ns =
      static_cast<double>(clock.runnable_after_wakeup_ns() + clock.runnable_after_preemption_ns() +
                          clock.runnable_after_yield_ns());
  for (const char* function : {"phases::Sleep", "phases::WaitForLock", "phases::ReadPipe"}) {
    double truth = 0;
    for (const auto& phase : worker["phases"])
      if (phase["function"] == function)
        truth = (phase["wall_ns"].get<double>() - phase["cpu_ns"].get<double>()) / waited_ns;
    double seen = 0;
    for (const auto& [wait, ns] : TimeIn(profile, function).blocked_ns)
      seen += static_cast<double>(ns) / seen_ns;
    EXPECT_GT(truth, 0.1) << function;
    // About half of the samples are of waits. What is runnable counts as a wait for the program.
    EXPECT_NEAR(seen, truth,
                accuracy::ShareBound(truth, samples / 2, 0.0001) + runnable_ns / waited_ns)
        << function;
  }

  // What was there after the restart is there, too; every format is written.
  const auto everybody = Ask({"list", "--since", "1h", "--json"});
  ASSERT_EQ(everybody.exit_code, 0) << everybody.err;
  EXPECT_NE(everybody.out.find("\"phases\""), std::string::npos);
  const auto formats = Ask({"query", "--since", "1h", "--comm", "phases", "-o", File("a.svg"), "-o",
                            File("a.pb.gz"), "-o", File("a.speedscope.json")});
  EXPECT_EQ(formats.exit_code, 0) << formats.err;
  const auto grouped = Ask({"query", "--since", "1h", "--comm", "phases", "--group-by", "user"});
  EXPECT_EQ(grouped.out.rfind("root;", 0), 0u) << grouped.out.substr(0, 200);
  StopKeeping(*again);
}

TEST_F(HistoryTest, ShowsWhatChangedFromOneRangeToAnother) {
  // A minute that is over would be one window, in which both programs ran.
  auto daemon = StartKeeping("0s");
  ASSERT_TRUE(daemon.has_value());
  ASSERT_TRUE(test::Eventually([&] { return KeptUntil() > 0; }));
  // Windows follow one another without a gap: the time cut to a second is in the window that ends
  // there, the second behind it in the next one, which is two seconds long.
  const std::uint64_t middle_unix_ns = RunAndKeep("40", "10");
  (void)RunAndKeep("5", "60");
  const std::string first = ".." + Rfc3339(middle_unix_ns);
  const std::string second = Rfc3339(middle_unix_ns + 1'000'000'000) + "..";
  const auto compare = [&](const std::string& a, const std::string& file) {
    const auto outcome =
        Ask({"diff", a, second, "--comm", "phases", "--absolute", "-o", File(file), "-q"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out + outcome.err, "");
    return nlohmann::json::parse(ReadFile(File(file)), nullptr, false);
  };
  const auto diff = compare(first, "d.json");
  ASSERT_FALSE(diff.is_discarded());
  const auto ns = [&](const char* name, const char* side) {
    for (const auto& function : diff["functions"])
      if (function["name"] == name) return function["total"][side].get<double>();
    ADD_FAILURE() << name << " is not in " << diff["functions"];
    return 0.0;
  };
  // By construction 40 of 80 ms and 5 of 95 ms; and 10 of 80 ms and 60 of 95 ms.
  EXPECT_GT(ns("phases::Compute", "a_ns"), 2 * ns("phases::Compute", "b_ns"));
  EXPECT_LT(2 * ns("phases::Sleep", "a_ns"), ns("phases::Sleep", "b_ns"));

  // It is what query has of that time; and a file of it is the same side.
  const auto requested =
      Ask({"query", "--to", Rfc3339(middle_unix_ns), "--comm", "phases", "-o", File("a.json")});
  ASSERT_EQ(requested.exit_code, 0) << requested.err;
  const v1::Profile a = ReadProfile(File("a.json"));
  std::uint64_t a_ns = 0;
  for (const std::uint64_t weight : a.samples().weight_ns()) a_ns += weight;
  EXPECT_EQ(diff["a"]["total_ns"], a_ns);
  EXPECT_EQ(compare(File("a.json"), "mixed.json")["functions"], diff["functions"]);

  const auto none = Ask({"diff", "2001-01-01..2001-01-02", second});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_NE(none.err.find("nothing is kept of 2001-01-01"), std::string::npos) << none.err;
  StopKeeping(*daemon);
}

TEST_F(HistoryTest, WithoutDataItSaysWhichTimeThereIs) {
  auto daemon = StartKeeping();
  ASSERT_TRUE(daemon.has_value());
  ASSERT_TRUE(test::Eventually([&] { return Ask({"list"}).exit_code == 0; })) << "no window";
  const auto before = Ask({"query", "--from", "2001-01-01", "--to", "2001-01-02"});
  EXPECT_EQ(before.exit_code, 3);
  EXPECT_NE(before.err.find("nothing is kept of 2001-01-01"), std::string::npos) << before.err;
  EXPECT_NE(before.err.find("the history has 20"), std::string::npos) << before.err;
  const auto none = Ask({"query", "--comm", "no-such-name"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_NE(none.err.find("no thread of comm no-such-name"), std::string::npos) << none.err;
  const auto status = Ask({"status"});
  EXPECT_NE(status.out.find("\nhistory "), std::string::npos) << status.out;
  EXPECT_NE(status.out.find("19 Hz in windows of 2.00 s"), std::string::npos) << status.out;
  StopKeeping(*daemon);
}

TEST_F(HistoryTest, ADaemonThatKeepsNoneSaysHow) {
  auto daemon = StartDaemon();
  ASSERT_TRUE(daemon.has_value());
  const auto requested = Ask({"query"});
  EXPECT_EQ(requested.exit_code, 1) << requested.err;
  EXPECT_NE(requested.err.find("keeps no history"), std::string::npos) << requested.err;
  EXPECT_NE(requested.err.find("--history-directory"), std::string::npos) << requested.err;
  const auto compared = Ask({"diff", "2h..1h", "1h.."});
  EXPECT_EQ(compared.exit_code, 1) << compared.err;
  EXPECT_NE(compared.err.find("keeps no history"), std::string::npos) << compared.err;
  Stop(*daemon);
}

}  // namespace
}  // namespace profd::e2e
