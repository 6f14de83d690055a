// Who holds the GIL, by programs that know it: threads that call C with the GIL and without it, and
// programs whose interpreter must be refused.
#include <gmock/gmock.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>

#include "tests/e2e/profctl.h"
#include "tests/support/interpreters.h"
#include "tests/support/paths.h"

namespace profd::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

int FirstCpu() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (::sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 0;
  int cpu = 0;
  while (!CPU_ISSET(cpu, &cpus)) ++cpu;
  return cpu;
}

// The names of a sample's frames.
std::set<std::string> NamesOf(const v1::Profile& profile, int sample) {
  std::set<std::string> names;
  for (std::uint32_t at = profile.samples().node(sample); at != 0;) {
    const auto& node = profile.nodes(static_cast<int>(at) - 1);
    names.insert(profile.frames(static_cast<int>(node.frame())).name());
    at = node.parent();
  }
  return names;
}

class GilTest : public ProfctlTest {
 protected:
  // Collects while the program runs; what it says at its end goes to `log`.
  void Collect(const std::vector<std::string>& command, nlohmann::json* log) {
    auto program = testing::Subprocess::Start(command, options_);
    ASSERT_TRUE(program) << program.error().message;
    const auto ready = program->ReadLine();
    ASSERT_TRUE(ready) << ready.error().message;
    pid_ = static_cast<std::uint32_t>(program->pid());
    const auto outcome = Profctl({"collect", "-p", std::to_string(pid_), "-d", "2.5", "-F", "499",
                                  "-o", File("x.json"), "-o", File("x.txt"), "-f", "summary"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    profile_ = ReadProfile(File("x.json"));
    summary_ = ReadFile(File("x.txt"));
    if (log == nullptr) return;
    program->WriteInput("end\n");
    const auto said = program->ReadLine();
    ASSERT_TRUE(said) << said.error().message;
    *log = nlohmann::json::parse(*said);
  }
  [[nodiscard]] std::uint64_t HeldNs() const {
    std::uint64_t sum = 0;
    const auto& samples = profile_.samples();
    for (int i = 0; i < samples.gil_size(); ++i)
      if (samples.gil(i) == v1::GIL_HELD) sum += samples.weight_ns(i);
    return sum;
  }

  std::uint32_t pid_ = 0;
  v1::Profile profile_;
  std::string summary_;
};

class GilSharesTest : public GilTest, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    GilTest::SetUp();
    if (IsSkipped()) return;
    interpreters_ = test::FindInterpreters(GetParam());
    if (interpreters_.empty()) GTEST_SKIP() << "no CPython 3." << GetParam() << " on this machine";
  }
  void CollectShares(const std::string& interpreter) {
    Collect({interpreter, test::SourceDirectory() + "/tests/e2e/python/gil_shares.py",
             PROFD_GIL_BURNER, std::to_string(FirstCpu())},
            &log_);
  }
  // The thread that runs a function of gil_shares.py.
  [[nodiscard]] std::uint32_t ThreadOf(const std::string& function) const;
  void ExpectWhatEachFunctionSays() const;
  void ExpectShareOf(const std::string& function) const;
  void ExpectSums() const;
  void ExpectOnlyGil() const;

  std::vector<std::string> interpreters_;
  nlohmann::json log_;
};

std::uint32_t GilSharesTest::ThreadOf(const std::string& function) const {
  for (int i = 0; i < profile_.samples().weight_ns_size(); ++i)
    if (NamesOf(profile_, i).contains(function)) return profile_.samples().thread(i);
  ADD_FAILURE() << function << " was not seen";
  return 0;
}

// Inside these functions there is no doubt, in any state.
void GilSharesTest::ExpectWhatEachFunctionSays() const {
  std::map<std::string, std::map<v1::State, std::uint64_t>> marks;
  const auto& samples = profile_.samples();
  ASSERT_EQ(samples.gil_size(), samples.weight_ns_size());
  for (int i = 0; i < samples.gil_size(); ++i) {
    if (samples.count(i) == 0) continue;
    const auto names = NamesOf(profile_, i);
    const std::string all = ::testing::PrintToString(names);
    EXPECT_NE(samples.gil(i), v1::GIL_UNKNOWN) << all;
    for (const char* name :
         {"burn_without_gil", "nap_without_gil", "burn_with_gil", "nap_with_gil"}) {
      if (!names.contains(name)) continue;
      const bool with = std::string(name).ends_with("_with_gil");
      EXPECT_EQ(samples.gil(i), with ? v1::GIL_HELD : v1::GIL_NOT_HELD)
          << all << v1::State_Name(samples.state(i));
      marks[name][samples.state(i)] += samples.count(i);
    }
    if (samples.wait(i) == v1::WAIT_GIL) {
      EXPECT_EQ(samples.gil(i), v1::GIL_WAITED) << all;
    }
  }
  EXPECT_GT(marks["burn_without_gil"][v1::STATE_ON_CPU], 0u);
  EXPECT_GT(marks["burn_with_gil"][v1::STATE_ON_CPU], 0u);
  EXPECT_GT(marks["burn_with_gil"][v1::STATE_RUNNABLE], 0u)
      << "preempted by the thread that needs no GIL, on the only CPU";
  EXPECT_GT(marks["nap_with_gil"][v1::STATE_BLOCKED], 0u);
  EXPECT_GT(marks["nap_without_gil"][v1::STATE_BLOCKED], 0u);
}

// Of the CPU time of one thread, the part in which it held the GIL: n samples give a share within
// 4.5 standard deviations of the truth but for one case in 100,000.
void GilSharesTest::ExpectShareOf(const std::string& function) const {
  double held = 0;
  double all = 0;
  for (const auto& entry : log_[function]) {
    const auto begin = entry[1].get<double>();
    const auto end = entry[2].get<double>();
    const double inside = std::min(end, static_cast<double>(profile_.end_ns())) -
                          std::max(begin, static_cast<double>(profile_.start_ns()));
    if (inside <= 0) continue;
    const double cpu = entry[3].get<double>() * inside / (end - begin);
    all += cpu;
    if (entry[0].get<bool>()) held += cpu;
  }
  const std::uint32_t thread = ThreadOf(function);
  double seen_held = 0;
  double seen = 0;
  double count = 0;
  const auto& samples = profile_.samples();
  for (int i = 0; i < samples.gil_size(); ++i) {
    if (samples.thread(i) != thread || samples.state(i) != v1::STATE_ON_CPU) continue;
    const auto ns = static_cast<double>(samples.weight_ns(i));
    seen += ns;
    count += samples.count(i);
    if (samples.gil(i) == v1::GIL_HELD) seen_held += ns;
  }
  ASSERT_GT(count, 50);
  const double share = held / all;
  const double bound = 4.5 * std::sqrt(share * (1 - share) / count);
  EXPECT_NEAR(seen_held / seen, share, bound) << function << ": " << count << " samples";
}

void GilSharesTest::ExpectSums() const {
  // What holds, waits, does neither or is not known is all that the clock of each thread shows.
  const auto& samples = profile_.samples();
  std::map<std::uint32_t, std::map<v1::State, std::uint64_t>> sums;
  for (int i = 0; i < samples.gil_size(); ++i)
    if (samples.gil(i) != v1::GIL_NONE)
      sums[samples.thread(i)][samples.state(i)] += samples.weight_ns(i);
  EXPECT_GE(sums.size(), 4u) << "the main thread and three more";
  for (const auto& [thread, by_state] : sums) {
    const auto& clock = profile_.threads(static_cast<int>(thread)).clock();
    const auto sum = [&](v1::State state) {
      const auto found = by_state.find(state);
      return found == by_state.end() ? 0 : found->second;
    };
    EXPECT_EQ(sum(v1::STATE_ON_CPU),
              clock.on_cpu_ns() + clock.stolen_exact_ns() + clock.stolen_spread_ns());
    EXPECT_EQ(sum(v1::STATE_RUNNABLE), clock.runnable_after_wakeup_ns() +
                                           clock.runnable_after_preemption_ns() +
                                           clock.runnable_after_yield_ns());
    EXPECT_EQ(sum(v1::STATE_BLOCKED), clock.blocked_interruptible_ns() +
                                          clock.blocked_uninterruptible_ns() +
                                          clock.blocked_iowait_ns());
  }
  // One thread at a time; the marks of each state are random.
  double marks = 0;
  for (int i = 0; i < samples.gil_size(); ++i)
    if (samples.gil(i) == v1::GIL_HELD) marks += samples.count(i);
  const auto elapsed = static_cast<double>(profile_.end_ns() - profile_.start_ns());
  EXPECT_LE(static_cast<double>(HeldNs()) / elapsed, 1 + 4.5 / std::sqrt(marks));
}

void GilSharesTest::ExpectOnlyGil() const {
  const auto folded = Profctl({"export", File("x.json"), "--gil", "-f", "folded"});
  ASSERT_EQ(folded.exit_code, 0) << folded.err;
  EXPECT_THAT(folded.out, Not(HasSubstr("_without_gil")));
  EXPECT_THAT(folded.out, HasSubstr("burn_with_gil"));
  EXPECT_THAT(folded.out, HasSubstr("[runnable:gil-holder]"));
  EXPECT_THAT(folded.out, Not(HasSubstr("[blocked:gil]")));
  std::uint64_t sum = 0;
  std::istringstream lines(folded.out);
  for (std::string line; std::getline(lines, line);)
    sum += std::stoull(line.substr(line.rfind(' ') + 1));
  EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(HeldNs()) / 1000, 1);
}

TEST_P(GilSharesTest, EachSampleKnowsWhetherItsThreadHoldsTheGil) {
  for (const std::string& interpreter : interpreters_) {
    SCOPED_TRACE(interpreter);
    ASSERT_NO_FATAL_FAILURE(CollectShares(interpreter));
    ExpectWhatEachFunctionSays();
    ExpectShareOf("mixed");
    ExpectSums();
    ExpectOnlyGil();
    EXPECT_THAT(summary_, HasSubstr("GIL of " + profile_.processes(0).comm() + " (" +
                                    std::to_string(pid_) + "), CPython 3."));
  }
}

INSTANTIATE_TEST_SUITE_P(CPython, GilSharesTest, ::testing::ValuesIn(test::WantedMinors()),
                         [](const auto& version) { return "3_" + std::to_string(version.param); });

// Programs that say so themselves.
TEST_F(GilTest, WhatIsNotUnderstoodIsSaidAndNotGuessed) {
  const std::pair<const char*, const char*> kPrograms[] = {
      {PROFD_GIL_FREE_THREADED, "CPython 3.13.1: free-threaded builds are not supported"},
      {PROFD_GIL_UNKNOWN_VERSION, "CPython 3.99.0 is not supported"},
      {PROFD_GIL_NO_THREADS, "not understood yet: it has no threads"},
  };
  for (const auto& [program, reason] : kPrograms) {
    SCOPED_TRACE(program);
    ASSERT_NO_FATAL_FAILURE(Collect({program}, nullptr));
    ASSERT_EQ(profile_.processes_size(), 1);
    const std::string said = "python: PID " + std::to_string(pid_) + " (" +
                             profile_.processes(0).comm() + "): " + reason;
    EXPECT_EQ(profile_.processes(0).python_refused(), reason);
    EXPECT_THAT(summary_, HasSubstr(said));
    EXPECT_TRUE(std::ranges::any_of(profile_.counters(),
                                    [&](const auto& note) { return note.text() == said; }));
    const auto& samples = profile_.samples();
    ASSERT_GT(samples.gil_size(), 0);
    for (int i = 0; i < samples.gil_size(); ++i) EXPECT_EQ(samples.gil(i), v1::GIL_UNKNOWN);
    const auto only = Profctl({"export", File("x.json"), "--gil", "-f", "folded"});
    EXPECT_EQ(only.exit_code, 3);
    EXPECT_THAT(only.err, HasSubstr(reason));
  }
}

// With a daemon, whose status says the same.
TEST_F(GilTest, TheStatusCountsInterpretersByReason) {
  const std::string socket = "unix://" + File("profd.sock");
  auto daemon = testing::Subprocess::Start({Binary("profd"), "--listen", socket}, options_);
  ASSERT_TRUE(daemon) << daemon.error().message;
  auto refused = testing::Subprocess::Start({PROFD_GIL_FREE_THREADED}, options_);
  ASSERT_TRUE(refused) << refused.error().message;
  ASSERT_TRUE(refused->ReadLine());
  options_.environment["PROFD_HOST"] = socket;
  ASSERT_TRUE(daemon->WaitForStderr("serving"));
  const auto outcome =
      Profctl({"collect", "-p", std::to_string(refused->pid()), "-d", "0.3", "-o", File("x.json")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto status = Profctl({"status", "--json"});
  ASSERT_EQ(status.exit_code, 0) << status.err;
  const auto python = nlohmann::json::parse(status.out)["python"];
  ASSERT_EQ(python["refused"].size(), 1u) << status.out;
  EXPECT_EQ(python["refused"][0]["text"], "CPython 3.13.1: free-threaded builds are not supported");
  EXPECT_EQ(python["refused"][0]["count"], 1);
  const auto text = Profctl({"status"});
  EXPECT_THAT(text.out, HasSubstr("1 refused"));
  EXPECT_THAT(text.out,
              HasSubstr("refused: 1 CPython 3.13.1: free-threaded builds are not supported"));
}

}  // namespace
}  // namespace profd::e2e
