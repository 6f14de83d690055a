// Every sample that falls into an interval of which a program has said what its stacks are,
// compared with that. All cases of one interpreter run in one session; each case is a test of its
// own.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>

#include "tests/e2e/profctl.h"
#include "tests/e2e/python/oracle/judge.h"
#include "tests/e2e/python/oracle/truth.h"
#include "tests/support/interpreters.h"
#include "tests/support/paths.h"

namespace profd::e2e {
namespace {

constexpr double kMaxNotMerged = 0.001;
const std::string kFolder = test::SourceDirectory() + "/tests/e2e/python/oracle/";

struct Case {
  int number;
  const char* name;
};

constexpr std::array kCases{
    Case{1, "NestedFunctions"},
    Case{2, "BlockedThreadsKeepTheirFrames"},
    Case{3, "ThreadsFightForTheGil"},
    Case{4, "CWithoutTheGil"},
    Case{5, "LocksAreNotTheGil"},
    Case{6, "CBetweenPython"},
    Case{7, "CallbacksFromQsort"},
    Case{8, "ThreadsMadeByC"},
    Case{9, "ThreadsOfCAlone"},
    Case{10, "Generators"},
    Case{11, "Coroutines"},
    Case{12, "AsynchronousGenerators"},
    Case{13, "Greenlets"},
    Case{14, "Recursion"},
    Case{15, "Exceptions"},
    Case{16, "Construction"},
    Case{17, "Comprehensions"},
    Case{18, "CodeFromText"},
    Case{19, "CodeComesAndGoes"},
    Case{20, "ModulesAreLoadedAgain"},
    Case{21, "Imports"},
    Case{22, "Twins"},
    Case{23, "Lines"},
    Case{24, "Names"},
    Case{25, "Forks"},
    Case{26, "ProgramsExecuteOthers"},
    Case{27, "ShortLives"},
    Case{28, "Embedded"},
    Case{29, "UnderAnotherName"},
    Case{30, "TwoRuntimesInOneProcess"},
    Case{31, "Subinterpreters"},
    Case{37, "OddFiles"},
    Case{38, "Builds"},
    Case{39, "Namespaces"},
    Case{40, "LatePthreadKeys"},
    Case{41, "SignalHandlers"},
    Case{42, "Traced"},
    Case{43, "Garbage"},
    Case{44, "ThreadsComeAndGo"},
    Case{45, "MemoryThatIsAway"},
    Case{46, "Crowds"},
    Case{47, "Circles"},
    Case{48, "TheEnd"},
    Case{49, "Stopped"},
    Case{50, "OtherObservers"},
};

// What one interpreter did in one session.
struct Session {
  std::string interpreter;
  oracle::Truth truth;
  v1::Profile profile;
  std::string failure;  // why there is none
};

class PythonOracle : public ProfctlTest,
                     public ::testing::WithParamInterface<std::tuple<Case, int>> {
 protected:
  void SetUp() override {
    ProfctlTest::SetUp();
    if (IsSkipped()) return;
    minor_ = std::get<1>(GetParam());
    sessions_ = &SessionsOf(minor_);
    if (sessions_->empty()) GTEST_SKIP() << "no CPython 3." << minor_ << " on this machine";
  }

  // Made once for all cases; tests run one after the other.
  const std::vector<Session>& SessionsOf(int minor);
  [[nodiscard]] Session Run(const std::string& interpreter) const;
  // Of one case; 0: all.
  static std::vector<oracle::Window> WindowsOf(const Session& session, int number);
  void ExpectTrue(const Session& session, const Case& one) const;

  int minor_ = 0;
  const std::vector<Session>* sessions_ = nullptr;
};

// One that runs by an older C library than this build's cannot.
bool CanLoadMarks(const std::string& interpreter) {
  const auto outcome =
      testing::Run({interpreter, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])",
                    TestProgram("oracle_marks.so")});
  if (outcome.exit_code != 0) std::cout << "  SKIPPED: " << interpreter << ": " << outcome.err;
  return outcome.exit_code == 0;
}

// Of the next version that there is, for programs that execute or load another.
std::string OtherThan(int minor) {
  std::vector<int> minors = test::WantedMinors();
  std::ranges::rotate(minors, std::ranges::upper_bound(minors, minor));
  for (const int one : minors)
    for (const std::string& interpreter : test::FindInterpreters(one))
      if (one != minor && CanLoadMarks(interpreter)) return interpreter;
  return "";
}

const std::vector<Session>& PythonOracle::SessionsOf(int minor) {
  static std::map<int, std::vector<Session>> sessions;
  const auto [entry, is_new] = sessions.try_emplace(minor);
  if (is_new)
    for (const std::string& interpreter : test::FindInterpreters(minor))
      if (CanLoadMarks(interpreter)) entry->second.push_back(Run(interpreter));
  return entry->second;
}

Session PythonOracle::Run(const std::string& interpreter) const {
  Session session;
  session.interpreter = interpreter;
  testing::SubprocessOptions options = options_;
  options.environment["ORACLE_LOG"] = File("truth");
  options.environment["ORACLE_MARKS"] = TestProgram("oracle_marks.so");
  options.environment["ORACLE_HOST"] = TestProgram("oracle_host");
  options.environment["ORACLE_OTHER"] = OtherThan(minor_);
  options.environment["PYTHONUTF8"] = "1";
  options.environment["PYTHONDONTWRITEBYTECODE"] = "1";
  std::vector<std::string> arguments{"collect", "-q",        "-F",
                                     "997",     "-o",        File("x.json"),
                                     "--",      interpreter, std::string(kFolder) + "program.py"};
  if (const char* only = std::getenv("ORACLE_CASE")) arguments.emplace_back(only);
  const auto outcome = testing::Run(Command(std::move(arguments)), options);
  if (outcome.exit_code != 0)
    session.failure =
        "exit code " + std::to_string(outcome.exit_code) + ": " + outcome.err + outcome.out;
  auto truth = oracle::ReadTruth(File("truth"));
  if (!truth) session.failure += truth.error().message;
  if (!session.failure.empty()) return session;
  session.truth = *std::move(truth);
  session.profile = ReadProfile(File("x.json"));
  return session;
}

std::string Describe(const oracle::Verdict& verdict) {
  std::ostringstream text;
  text << verdict.samples << " samples";
  if (verdict.without_stack > 0) text << ", " << verdict.without_stack << " without a stack";
  if (verdict.early > 0) text << ", " << verdict.early << " too early";
  if (verdict.cut > 0) text << ", " << verdict.cut << " cut";
  if (verdict.gaps > 0) text << ", " << verdict.gaps << " without all names";
  if (verdict.not_merged > 0) text << ", " << verdict.not_merged << " not merged";
  return text.str();
}

// What is seen first in the last 10 ms of a process has no name.
bool IsShortLived(int number) { return number == 25 || number == 27 || number == 46; }

std::vector<oracle::Window> PythonOracle::WindowsOf(const Session& session, int number) {
  std::vector<oracle::Window> windows;
  for (const oracle::Window& window : session.truth.windows) {
    if (number != 0 && window.number != number) continue;
    windows.push_back(window);
    windows.back().gaps |= IsShortLived(window.number);
  }
  return windows;
}

void PythonOracle::ExpectTrue(const Session& session, const Case& one) const {
  ASSERT_EQ(session.failure, "");
  if (const auto error = session.truth.errors.find(one.number); error != session.truth.errors.end())
    FAIL() << "the case itself: " << error->second;
  if (const auto skipped = session.truth.skipped.find(one.number);
      skipped != session.truth.skipped.end())
    GTEST_SKIP() << skipped->second;
  oracle::Verdict verdict;
  std::vector<std::string> needs;
  for (const oracle::Window& window : WindowsOf(session, one.number)) {
    verdict.Add(oracle::Judge(session.profile, window));
    needs.insert(needs.end(), window.needs.begin(), window.needs.end());
  }
  if (one.number == 9) verdict.Add(oracle::JudgeNatives(session.profile, "native"));
  std::cout << "  " << Describe(verdict) << "\n";
  if (IsShortLived(one.number)) {
    EXPECT_LE(verdict.gaps, verdict.samples / 20);
  }
  EXPECT_GT(verdict.samples, verdict.early) << "nothing was seen of it";
  EXPECT_EQ(verdict.WrongSamples(), 0);
  int shown = 0;
  for (const auto& [what, count] : verdict.wrong)
    if (++shown <= 6) std::cout << "  WRONG " << count << " times: " << what << "\n";
  for (const std::string& need : needs) EXPECT_GT(verdict.waits[need], 0u) << need;
}

TEST_P(PythonOracle, Case) {
  for (const Session& session : *sessions_) {
    SCOPED_TRACE(session.interpreter);
    ExpectTrue(session, std::get<0>(GetParam()));
  }
}

class PythonOracleTotals : public PythonOracle {};

TEST_P(PythonOracleTotals, FewStacksAreNotMergedOrWrong) {
  for (const Session& session : *sessions_) {
    SCOPED_TRACE(session.interpreter);
    ASSERT_EQ(session.failure, "");
    oracle::Verdict verdict;
    for (const oracle::Window& window : WindowsOf(session, 0))
      verdict.Add(oracle::Judge(session.profile, window));
    std::cout << "  " << Describe(verdict) << "\n";
    EXPECT_LE(static_cast<double>(verdict.not_merged - verdict.apart),
              kMaxNotMerged * static_cast<double>(verdict.samples))
        << verdict.last_not_merged;
    EXPECT_EQ(verdict.WrongSamples(), 0);
  }
}

std::string TwoDigits(int number) { return (number < 10 ? "0" : "") + std::to_string(number); }

INSTANTIATE_TEST_SUITE_P(CPython, PythonOracle,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::ValuesIn(test::WantedMinors())),
                         [](const auto& test) {
                           const Case& one = std::get<0>(test.param);
                           return TwoDigits(one.number) + one.name + "_py3_" +
                                  std::to_string(std::get<1>(test.param));
                         });
INSTANTIATE_TEST_SUITE_P(CPython, PythonOracleTotals,
                         ::testing::Combine(::testing::Values(Case{0, "All"}),
                                            ::testing::ValuesIn(test::WantedMinors())),
                         [](const auto& test) {
                           return "py3_" + std::to_string(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace profd::e2e
