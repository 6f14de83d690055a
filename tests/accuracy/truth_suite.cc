#include "tests/accuracy/truth_suite.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <sstream>

namespace profd::accuracy {
namespace {

// The cases split time 30 : 70; a profile that is blind to what a thread does says 50 : 50, one in
// step with it 0 : 100. Bounds on both sides that are less together than the way to the nearer one
// keep the two apart: this is the half of it.
constexpr double kWidestBound = 0.1;
// A phase is timed by two readings of the wall clock inside two of the thread's CPU clock, a system
// call: that much of each phase may count on either side.
constexpr double kReadingNs = 1000;
// Runs until one is not spoilt by what is not profd's: a CPU stolen at the wrong instant, tables
// that a busy machine makes late. What profd itself does wrong spoils them all.
constexpr int kRuns = 5;
constexpr int kRunsForTables = 3;  // of these; after them bounds are as wide as they must be
// Stacks without their tables widen bounds by as much; it matters where that is more than the
// standard deviation of a share of one half.
constexpr double kMostNotReady = 0.01;
double MostNotReady(const TruthRun& run) {
  return std::max(kMostNotReady, 0.5 / std::sqrt(std::max(1, run.profile().samples().node_size())));
}
// No clock has what threads did while CPUs were stolen: beyond this, it outweighs what chance
// explains (statistics.h).
constexpr double kMostStolen = 0.03;
constexpr int kMostStolenRuns = 2;

// Counts the suite's comparisons: the chance of each follows from their number. Of those whose
// errors are near the normal distribution, 1 of 370 is beyond three standard deviations.
class ComparisonBudget : public ::testing::Environment {
 public:
  void Spend() { ++spent_; }
  void AddError(double deviations) {
    ++normal_;
    if (deviations > 3) ++beyond_;
  }
  void TearDown() override {
    EXPECT_LE(spent_, kMaxComparisons) << "raise kMaxComparisons";
    EXPECT_LE(beyond_, MostBeyond()) << "of " << normal_ << " are beyond 3 standard deviations";
  }

 private:
  // More happen in fewer than 1 of 1,000 runs.
  [[nodiscard]] int MostBeyond() const {
    constexpr double kBeyondThree = 0.0027;
    double of_k = std::pow(1 - kBeyondThree, normal_);
    double up_to_k = of_k;
    int k = 0;
    for (; up_to_k < 0.999; ++k) {
      of_k *= (normal_ - k) / (k + 1.0) * kBeyondThree / (1 - kBeyondThree);
      up_to_k += of_k;
    }
    return k;
  }

  int spent_ = 0;
  int normal_ = 0;
  int beyond_ = 0;
};

// Owned by GoogleTest, which calls TearDown when all cases have run.
auto* const kBudget =
    static_cast<ComparisonBudget*>(::testing::AddGlobalTestEnvironment(new ComparisonBudget));

double TickNs() {
  timespec resolution{};
  clock_getres(CLOCK_MONOTONIC_COARSE, &resolution);
  return static_cast<double>(resolution.tv_nsec);
}

double LifeNs(const v1::Thread& thread) {
  if (thread.group_size() != 0) return static_cast<double>(thread.elapsed_ns());
  return static_cast<double>(thread.end_ns() - thread.begin_ns());
}

// Of all threads that the program reported.
Result<AccountingJudgement> JudgeAccounting(const TruthRun& run) {
  AccountingJudgement judgement(TickNs());
  for (const auto& truth : run.truth().at("threads")) {
    const auto view = run.Thread(truth.at("tid").get<std::uint32_t>());
    if (!view) return view.error();
    judgement.Add(view->thread(), AccountingOf(truth));
  }
  return judgement;
}

// The program's own readings of the time around a thread's begin and end.
struct Brackets {
  double created_ns = 0;
  double begin_ns = 0;
  double end_ns = 0;
  double joined_ns = 0;
  double tail_ns = 0;  // so long it may live on unseen
};

void ExpectInside(const v1::Thread& thread, const Brackets& brackets) {
  const auto begin_ns = static_cast<double>(thread.begin_ns());
  const auto end_ns = static_cast<double>(thread.end_ns());
  EXPECT_GE(begin_ns, brackets.created_ns) << thread.comm();
  EXPECT_LE(begin_ns, brackets.begin_ns) << thread.comm();
  EXPECT_GE(end_ns, brackets.end_ns) << thread.comm();
  EXPECT_LE(end_ns, brackets.joined_ns + brackets.tail_ns) << thread.comm();
  EXPECT_TRUE(thread.exited()) << thread.comm();
}

void ExpectNear(const MeasuredShare& measured, double true_share, double reading,
                const std::string& function) {
  kBudget->Spend();
  const double samples = measured.weights.EffectiveSamples();
  const double chance = ShareBound(true_share, samples) + reading;
  // Stacks that were cut above the function make its share smaller, never larger.
  const double bound = chance + measured.not_ready;
  EXPECT_LT(chance + measured.not_ready / 2, kWidestBound)
      << function << ": " << samples << " samples, " << measured.not_ready
      << " of them before their tables, say too little";
  EXPECT_LE(measured.share, true_share + chance) << function << ", " << samples << " samples";
  EXPECT_GE(measured.share, true_share - bound) << function << ", " << samples << " samples";
  ::testing::Test::RecordProperty(function, std::to_string(measured.share) + " of " +
                                                std::to_string(true_share) + " +- " +
                                                std::to_string(bound));
}

}  // namespace

void TruthTest::SetUp() {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: real BPF programs are loaded";
}

bool TruthTest::IsStolen() {
  const double stolen = run_->StolenShare();
  if (stolen <= kMostStolen) return false;
  std::ostringstream reason;
  reason << "the host took " << 100 * stolen << " % of the CPUs away";
  std::cout << reason.str() << "\n";
  if (++stolen_runs_ < kMostStolenRuns) return true;
  [&] { GTEST_SKIP() << reason.str(); }();
  // Ends the case; GoogleTest catches it.
  throw ::testing::AssertionException(
      {::testing::TestPartResult::kSkip, __FILE__, __LINE__, reason.str().c_str()});
}

void TruthTest::Collect(const std::vector<std::string>& arguments, int frequency_hz,
                        const std::string& program) {
  CollectWith({"-F", std::to_string(frequency_hz)}, arguments, program);
}

void TruthTest::Observe(const std::vector<std::string>& arguments, int frequency_hz,
                        const std::string& program) {
  CollectWith({"-F", std::to_string(frequency_hz), "--no-hooks"}, arguments, program);
}

void TruthTest::CollectWith(const std::vector<std::string>& options,
                            const std::vector<std::string>& arguments, const std::string& program) {
  for (int runs = 1;; ++runs) {
    auto run = TruthRun::Collect(program, arguments, options);
    ASSERT_TRUE(run.ok()) << run.error().message;
    run_ = std::move(*run);
    if (IsStolen()) continue;
    const auto accounting = JudgeAccounting(*run_);
    ASSERT_TRUE(accounting.ok()) << accounting.error().message;
    const bool agrees = accounting->Holds(run_->most_stolen_ns());
    if (agrees && (runs >= kRunsForTables || run_->NotReadyShare() <= MostNotReady(*run_))) break;
    std::cout << "run " << runs << ": " << accounting->Text() << "; stolen "
              << run_->most_stolen_ns() << " ns at most; " << run_->NotReadyShare()
              << " of the stacks before their tables\n";
    ASSERT_LT(runs, kRuns) << accounting->Text();
  }
  ExpectSums(*run_);
  ExpectLives(*run_);
}

void ExpectSums(const TruthRun& run) {
  double weights = 0;
  double lives = 0;
  ASSERT_GT(run.profile().threads_size(), 0);
  for (int i = 0; i < run.profile().threads_size(); ++i) {
    const ThreadView view(run.profile(), i);
    const std::uint64_t elapsed_ns = ElapsedNs(view.thread().clock());
    EXPECT_FALSE(view.thread().clock_missing()) << view.thread().comm();
    EXPECT_NEAR(static_cast<double>(elapsed_ns) / LifeNs(view.thread()), 1, 0.001)
        << view.thread().comm() << " lived " << LifeNs(view.thread()) << " ns, its clock says "
        << elapsed_ns;
    EXPECT_LE(std::abs(view.thread().closure_error()), 0.001) << view.thread().comm();
    EXPECT_EQ(view.WeightNs(), elapsed_ns) << view.thread().comm();
    weights += static_cast<double>(view.WeightNs());
    lives += LifeNs(view.thread());
  }
  EXPECT_NEAR(weights / lives, 1, 0.001);
}

void ExpectLives(const TruthRun& run) {
  std::map<std::uint32_t, const nlohmann::json*> reported;
  for (const auto& truth : run.truth().at("threads")) reported[truth.at("tid")] = &truth;
  const std::size_t threads = reported.size();
  const std::uint32_t main_tid = run.truth().at("pid");
  const auto stolen_ns = static_cast<double>(run.most_stolen_ns());
  std::size_t late_ones = 0;
  for (const v1::Thread& thread : run.profile().threads()) {
    if (thread.tid() == main_tid) {
      ExpectInside(thread, {.created_ns = static_cast<double>(run.before_ns()),
                            .begin_ns = run.truth().at("begin_ns"),
                            .end_ns = run.truth().at("end_ns"),
                            .joined_ns = static_cast<double>(run.after_ns()),
                            .tail_ns = 0});
      continue;
    }
    const auto found = reported.find(thread.tid());
    ASSERT_NE(found, reported.end()) << thread.comm() << " is none of the program's";
    const nlohmann::json& truth = *found->second;
    // Who joins it is woken before it has left its CPU for good: it goes on running, or waits for
    // the CPU, and both are in its clock; but where a wait is apart from kernel accounting, see
    // there.
    const double after_ns = AfterAccountingNs(thread, AccountingOf(truth));
    const bool late =
        static_cast<double>(thread.end_ns()) > truth.at("joined_ns").get<double>() + after_ns;
    if (late) ++late_ones;
    ExpectInside(thread, {.created_ns = truth.at("created_ns"),
                          .begin_ns = truth.at("begin_ns"),
                          .end_ns = truth.at("end_ns"),
                          .joined_ns = truth.at("joined_ns"),
                          .tail_ns = after_ns + (late ? stolen_ns : 0)});
    EXPECT_TRUE(thread.began()) << thread.comm();
    EXPECT_EQ(thread.comm(), truth.at("name").get<std::string>());
    reported.erase(found);
  }
  EXPECT_LE(late_ones * 100, threads);
  EXPECT_TRUE(reported.empty()) << reported.size() << " threads are not in the profile";
}

void ExpectShare(const TruthRun& run, const std::string& thread, const std::string& function,
                 Side side) {
  const auto& truth = run.Truth(thread);
  const TrueTime time = TrueTimeIn(truth, function);
  const double life_ns = truth.at("end_ns").get<double>() - truth.at("begin_ns").get<double>();
  const double cpu_ns = truth.at("cpu_ns").get<double>();
  const double true_ns = side == Side::kOnCpu ? time.cpu_ns : time.wall_ns - time.cpu_ns;
  const double of_ns = side == Side::kOnCpu ? cpu_ns : life_ns - cpu_ns;
  ExpectNear(run.MustThread(thread).Share(function, side),
             std::max(0.0, std::min(1.0, true_ns / of_ns)), kReadingNs * time.count / of_ns,
             function);
}

void ExpectShareWithin(double measured, double least, double most, double samples,
                       const std::string& what) {
  kBudget->Spend();
  const double nearest = std::clamp(measured, least, most);
  const double variance = nearest * (1 - nearest);
  const double bound = ShareBound(nearest, samples);
  // The normal distribution is near where nine samples are on either side.
  if (variance * samples >= 9)
    kBudget->AddError(std::abs(measured - nearest) / std::sqrt(variance / samples));
  EXPECT_LE(std::abs(measured - nearest), bound) << what << ": " << measured << ", true " << least
                                                 << " to " << most << ", " << samples << " samples";
  std::ostringstream text;
  text << measured << " of " << least << " to " << most << " +- " << bound;
  ::testing::Test::RecordProperty(what, text.str());
  std::cout << what << ": " << text.str() << ", sigma "
            << std::sqrt(variance / std::max(1.0, samples)) << "\n";
}

void ExpectShareOfAll(const TruthRun& run, const std::string& function, Side side) {
  // Lives are too short to leave out what a thread does before and after its own readings: the
  // kernel accounting of all of them has the CPU time, the clocks have the elapsed time.
  const double cpu_ns = run.truth().at("cpu_of_all_ns").get<double>();
  double elapsed_ns = 0;
  TrueTime time;
  for (const auto& truth : run.truth().at("threads")) {
    const TrueTime its = TrueTimeIn(truth, function);
    time.wall_ns += its.wall_ns;
    time.cpu_ns += its.cpu_ns;
    time.count += its.count;
    const auto view = run.Thread(truth.at("tid").get<std::uint32_t>());
    ASSERT_TRUE(view.ok()) << view.error().message;
    elapsed_ns += static_cast<double>(ElapsedNs(view->thread().clock()));
  }
  const double true_ns = side == Side::kOnCpu ? time.cpu_ns : time.wall_ns - time.cpu_ns;
  const double of_ns = side == Side::kOnCpu ? cpu_ns : elapsed_ns - cpu_ns;
  ExpectNear(run.ShareOfAll(function, side), true_ns / of_ns, kReadingNs * time.count / of_ns,
             function);
}

void ExpectBlockedIn(const TruthRun& run, const std::string& thread, const std::string& function,
                     const std::string& loop) {
  const ThreadView view = run.MustThread(thread);
  const MeasuredShare measured = view.Share(function, Side::kBlocked);
  const double outside_ns = LifeNs(view.thread()) - TrueTimeIn(run.Truth(thread), loop).wall_ns;
  ExpectNear(measured, 1, outside_ns / measured.total_ns, function);
}

}  // namespace profd::accuracy
