// profctl collect of real interpreters that know where their time goes: frames of Python and of C
// in their true order, on and off the CPU; threads of C alone have none of Python.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "client/profile/profile_parts.h"
#include "tests/e2e/profctl.h"
#include "tests/support/interpreters.h"
#include "tests/support/paths.h"

namespace profd::e2e {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Not;

// One stack with its time, root first; interpreter frames are left out, as everywhere.
struct Stack {
  std::vector<std::string> names;  // "f" of Python, "[c] f" of anything else
  std::vector<std::uint32_t> lines;
  std::string wait;
  std::uint64_t ns = 0;
  std::uint32_t thread = 0;
};

std::vector<Stack> StacksOf(const v1::Profile& complete) {
  const auto without = client::WithoutInterpreterFrames(complete);
  const v1::Profile& profile = without ? *without : complete;
  std::vector<Stack> stacks;
  const auto& samples = profile.samples();
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    Stack& stack = stacks.emplace_back();
    stack.ns = samples.weight_ns(i);
    stack.thread = samples.thread(i);
    stack.wait = v1::WaitReason_Name(samples.wait(i));
    for (std::uint32_t at = samples.node(i); at != 0;
         at = profile.nodes(static_cast<int>(at) - 1).parent()) {
      const auto& node = profile.nodes(static_cast<int>(at) - 1);
      const auto& frame = profile.frames(static_cast<int>(node.frame()));
      const bool python = frame.kind() == v1::FRAME_PYTHON;
      stack.names.insert(stack.names.begin(), python ? frame.name() : "[c] " + frame.name());
      stack.lines.insert(stack.lines.begin(), frame.line());
    }
  }
  return stacks;
}

// Stacks without a certain place are counted apart, below.
bool IsFlagged(const Stack& stack) {
  return std::ranges::find(stack.names, "[c] [merge=failed]") != stack.names.end();
}

// Its native frames end where an unwind table was not made yet.
bool IsCut(const Stack& stack) {
  return std::ranges::find(stack.names, "[c] [tables not ready]") != stack.names.end();
}

// Of so many stacks: of 1,000 one is (tests/e2e/python/oracle), so chance makes it more in fewer
// than 1 of 1,000,000 runs.
std::ptrdiff_t MostFlagged(std::size_t stacks) {
  const double mean = static_cast<double>(stacks) / 1000;
  double term = std::exp(-mean);
  double beyond = 1 - term;
  std::ptrdiff_t most = 0;
  while (beyond > 1e-6) {
    term *= mean / static_cast<double>(++most);
    beyond -= term;
  }
  return most;
}

bool IsPython(const std::string& name) { return !name.starts_with("[c] "); }

std::vector<std::string> PythonOf(const Stack& stack) {
  std::vector<std::string> names;
  std::ranges::copy_if(stack.names, std::back_inserter(names), IsPython);
  return names;
}

std::size_t Find(const Stack& stack, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(stack.names, name) - stack.names.begin());
}

class PythonTest : public ProfctlTest, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    ProfctlTest::SetUp();
    if (IsSkipped()) return;
    const auto found = test::FindInterpreters(GetParam());
    if (found.empty()) GTEST_SKIP() << "no CPython 3." << GetParam() << " on this machine";
    interpreters_ = found;
  }

  // Collects while the program runs; what it says of itself goes to truth_.
  void Collect(const std::string& interpreter) {
    auto program = testing::Subprocess::Start(
        {interpreter, test::SourceDirectory() + "/tests/e2e/python/phases.py"}, options_);
    ASSERT_TRUE(program) << program.error().message;
    const auto ready = program->ReadLine();
    ASSERT_TRUE(ready) << ready.error().message;
    const auto outcome = Profctl({"collect", "-p", std::to_string(program->pid()), "-d", "1.5",
                                  "-F", "299", "-o", File("x.json")});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    profile_ = ReadProfile(File("x.json"));
    stacks_ = StacksOf(profile_);
    program->WriteInput("end\n");
    const auto truth = program->ReadLine();
    ASSERT_TRUE(truth) << truth.error().message;
    KeepTruth(nlohmann::json::parse(*truth));
  }

  // What of each phase lies inside the session.
  void KeepTruth(const nlohmann::json& log) {
    truth_.clear();
    for (const auto& entry : log) {
      const auto begin = std::max(entry[1].get<std::uint64_t>(), profile_.start_ns());
      const auto end = std::min(entry[2].get<std::uint64_t>(), profile_.end_ns());
      if (begin < end) truth_[entry[0]] += static_cast<double>(end - begin);
    }
  }
  // Every frame of Python is one of those that there are, under its right caller.
  void ExpectTrueOrder(const Stack& stack) const;
  void ExpectShares() const;
  void ExpectThreadsOfCAlone() const;

  std::vector<std::string> interpreters_;
  v1::Profile profile_;
  std::vector<Stack> stacks_;
  std::map<std::string, double> truth_;  // ns by phase
};

void PythonTest::ExpectTrueOrder(const Stack& stack) const {
  const std::vector<std::string> python = PythonOf(stack);
  const std::string all = ::testing::PrintToString(stack.names);
  EXPECT_THAT(python, Not(Contains(AnyOf("<unknown>", "<stale>")))) << all;
  if (const auto at = Find(stack, "compare"); at < stack.names.size()) {
    // sorting -> libffi -> qsort of libc -> libffi -> compare.
    const auto sort = Find(stack, "sorting");
    ASSERT_LT(sort, at) << all;
    if (!IsCut(stack)) {
      const auto qsort = std::ranges::find_if(
          stack.names, [](const auto& name) { return name.find("sort_r") != std::string::npos; });
      ASSERT_NE(qsort, stack.names.end()) << all;
      EXPECT_LT(sort, static_cast<std::size_t>(qsort - stack.names.begin())) << all;
      EXPECT_LT(static_cast<std::size_t>(qsort - stack.names.begin()), at) << all;
    }
  }
  if (Find(stack, "spinning") < stack.names.size() &&
      Find(stack, "spin_inner") < stack.names.size()) {
    EXPECT_EQ(Find(stack, "spin_inner"), Find(stack, "spinning") + 1) << all;
  }
  if (Find(stack, "timed") < stack.names.size()) {
    EXPECT_EQ(python[0], "<module>") << all;
    EXPECT_EQ(python[1], "main") << all;
    EXPECT_EQ(python[2], "timed") << all;
  }
}

// By samples of one thread: n of them give a share within 4.5 standard deviations of the truth but
// for one case in 100,000. Samples at regular times vary less than that.
void PythonTest::ExpectShares() const {
  std::map<std::string, double> seen;
  double sum = 0;
  double count = 0;
  for (const Stack& stack : stacks_) {
    for (const auto& [phase, ns] : truth_) {
      if (Find(stack, phase) == stack.names.size()) continue;
      seen[phase] += static_cast<double>(stack.ns);
      sum += static_cast<double>(stack.ns);
      ++count;
    }
  }
  double truth = 0;
  for (const auto& [phase, ns] : truth_) truth += ns;
  ASSERT_GT(count, 50);
  for (const auto& [phase, ns] : truth_) {
    const double share = ns / truth;
    const double bound = 4.5 * std::sqrt(share * (1 - share) / count);
    EXPECT_NEAR(seen[phase] / sum, share, bound) << phase << " of " << count << " samples";
  }
}

void PythonTest::ExpectThreadsOfCAlone() const {
  int alone = 0;
  int waiting = 0;
  for (const Stack& stack : stacks_) {
    if (std::ranges::find_if(stack.names, [](const auto& name) {
          return name.find("pause") != std::string::npos;
        }) != stack.names.end()) {
      EXPECT_TRUE(PythonOf(stack).empty()) << ::testing::PrintToString(stack.names);
      ++alone;
    }
    if (std::ranges::any_of(stack.names, [](const auto& name) {
          return name == "Waiter.waiting" || name == "waiting";
        })) {
      EXPECT_EQ(stack.wait, "WAIT_LOCK") << ::testing::PrintToString(stack.names);
      ++waiting;
    }
  }
  EXPECT_GT(alone, 0) << "the thread of C alone was not seen";
  EXPECT_GT(waiting, 0) << "the thread that waits for a lock was not seen with its Python frames";
}

TEST_P(PythonTest, FramesStandInTheirTrueOrderWithTheirTrueShares) {
  for (const std::string& interpreter : interpreters_) {
    SCOPED_TRACE(interpreter);
    ASSERT_NO_FATAL_FAILURE(Collect(interpreter));
    for (const Stack& stack : stacks_)
      if (!IsFlagged(stack)) ExpectTrueOrder(stack);
    EXPECT_LE(std::ranges::count_if(stacks_, IsFlagged), MostFlagged(stacks_.size()));
    EXPECT_TRUE(std::ranges::any_of(stacks_, [](const Stack& stack) {
      return !IsCut(stack) && Find(stack, "compare") < stack.names.size();
    })) << "no stack with Python called by native code was whole";
    ExpectShares();
    ExpectThreadsOfCAlone();
  }
}

// A thread that computes in Python and does not run waits for the GIL, or for a CPU.
TEST_P(PythonTest, WaitsForTheGilAreDistinguishedFromOtherLocks) {
  const std::string interpreter = interpreters_.front();
  SCOPED_TRACE(interpreter);
  auto program = testing::Subprocess::Start(
      {interpreter, test::SourceDirectory() + "/tests/e2e/python/contenders.py"}, options_);
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_TRUE(program->ReadLine());
  const auto outcome =
      Profctl({"collect", "-p", std::to_string(program->pid()), "-d", "1.5", "-o", File("x.json")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const v1::Profile profile = ReadProfile(File("x.json"));
  std::map<std::uint32_t, std::uint64_t> gil_ns;
  std::map<std::uint32_t, std::uint64_t> other_ns;
  for (const Stack& stack : StacksOf(profile)) {
    if (Find(stack, "contend") == stack.names.size()) continue;
    if (stack.wait == "WAIT_GIL") gil_ns[stack.thread] += stack.ns;
    if (stack.wait == "WAIT_LOCK") other_ns[stack.thread] += stack.ns;
  }
  EXPECT_EQ(gil_ns.size(), 3u) << "each thread waits";
  EXPECT_TRUE(other_ns.empty()) << "and for nothing else";
  // Two of three wait at any moment: of the time that is neither running nor runnable all is
  // theirs.
  for (const auto& [index, ns] : gil_ns) {
    const auto& clock = profile.threads(static_cast<int>(index)).clock();
    const auto blocked_ns = clock.blocked_interruptible_ns() + clock.blocked_uninterruptible_ns();
    EXPECT_NEAR(static_cast<double>(ns) / static_cast<double>(blocked_ns), 1, 0.05);
  }
}

INSTANTIATE_TEST_SUITE_P(CPython, PythonTest, ::testing::ValuesIn(test::WantedMinors()),
                         [](const auto& version) { return "3_" + std::to_string(version.param); });

}  // namespace
}  // namespace profd::e2e
