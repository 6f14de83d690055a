#include "tests/accuracy/truth_suite.h"

#include <time.h>
#include <unistd.h>

#include <cmath>
#include <iostream>
#include <thread>

namespace profd::accuracy {
namespace {

// A bound this wide or wider would let a wrong profile pass.
constexpr double kWidestBound = 0.12;
// A phase is timed by two readings of the wall clock inside two of the thread's CPU clock, a system
// call: that much of each phase may count on either side.
constexpr double kReadingNs = 1000;

// Counts the suite's comparisons: the chance of each follows from their number.
class ComparisonBudget : public ::testing::Environment {
 public:
  void Spend() { ++spent_; }
  void TearDown() override { EXPECT_LE(spent_, kMaxComparisons) << "raise kMaxComparisons"; }

 private:
  int spent_ = 0;
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
  return static_cast<double>(thread.end_ns() - thread.begin_ns());
}

// By how much what profd says is runnable lies outside of what the kernel's books allow: 1 us for
// each wait (the kernel starts at the enqueue) and one for that which may be under way.
double BeyondTheBooksNs(const ThreadView& view, const nlohmann::json& books) {
  // What the thread did after it had read the books: it ran, and at most all else was a wait.
  const double tail_ns = static_cast<double>(view.thread().end_ns()) -
                         books.at("read_ns").get<double>() -
                         (static_cast<double>(view.thread().clock().on_cpu_ns()) -
                          books.at("cpu_when_read_ns").get<double>());
  const double queued_ns = 1000.0 * static_cast<double>(view.RunnableCount() + 1);
  const double runnable_ns =
      static_cast<double>(view.RunnableNs()) - books.at("run_delay_ns").get<double>();
  return std::max(
      {0.0, -queued_ns - runnable_ns, runnable_ns - queued_ns - std::max(0.0, tail_ns)});
}

}  // namespace

void TruthTest::SetUp() {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: real BPF programs are loaded";
}

void TruthTest::Collect(const std::vector<std::string>& arguments, int frequency_hz,
                        const std::string& program) {
  auto run = TruthRun::Collect(program, arguments, frequency_hz);
  ASSERT_TRUE(run.ok()) << run.error().message;
  run_ = std::move(*run);
  ExpectSums(*run_);
  ExpectBooks(*run_);
}

void ExpectSums(const TruthRun& run) {
  double weights = 0;
  double lives = 0;
  ASSERT_GT(run.profile().threads_size(), 0);
  for (int i = 0; i < run.profile().threads_size(); ++i) {
    const ThreadView view(run.profile(), i);
    EXPECT_FALSE(view.thread().clock_missing()) << view.thread().comm();
    EXPECT_LE(std::abs(view.thread().closure_error()), 0.001)
        << view.thread().comm() << " lived " << LifeNs(view.thread()) << " ns, its clock says "
        << view.ElapsedNs();
    EXPECT_EQ(view.WeightNs(), view.ElapsedNs()) << view.thread().comm();
    weights += static_cast<double>(view.WeightNs());
    lives += LifeNs(view.thread());
  }
  EXPECT_NEAR(weights / lives, 1, 0.001);
}

void ExpectBooks(const TruthRun& run) {
  std::size_t threads = 0;
  std::size_t beyond = 0;
  double beyond_ns = 0;
  for (const auto& truth : run.truth().at("threads")) {
    if (!truth.contains("schedstat")) continue;
    const auto view = run.Thread(truth.at("tid").get<std::uint32_t>());
    ASSERT_TRUE(view.ok()) << view.error().message;
    const auto& books = truth.at("schedstat");
    EXPECT_NEAR(static_cast<double>(view->thread().clock().on_cpu_ns()),
                books.at("run_ns").get<double>(), TickNs() + static_cast<double>(run.steal_ns()))
        << truth.at("name");
    const double thread_beyond_ns = BeyondTheBooksNs(*view, books);
    ++threads;
    beyond += thread_beyond_ns > 0 ? 1 : 0;
    beyond_ns += thread_beyond_ns;
    if (thread_beyond_ns > 0) std::cout << truth.at("name") << ": " << thread_beyond_ns << " ns\n";
  }
  // A CPU that is stolen between the kernel's reading of its clock and the hook's makes a wait
  // shorter or longer by as much. All CPUs of a virtual machine are stolen at once: that may happen
  // to one thread on each, and to one in a hundred.
  EXPECT_LE(beyond, std::thread::hardware_concurrency() + threads / 100);
  EXPECT_LE(beyond_ns, static_cast<double>(run.steal_ns()));
}

void ExpectShare(const TruthRun& run, const std::string& thread, const std::string& function,
                 Side side) {
  kBudget->Spend();
  const auto& truth = run.Truth(thread);
  const ThreadView view = run.MustThread(thread);
  const TrueTime time = TrueTimeIn(truth, function);
  const double life_ns = truth.at("end_ns").get<double>() - truth.at("begin_ns").get<double>();
  const double cpu_ns = truth.at("cpu_ns").get<double>();
  const double true_ns = side == Side::kOnCpu ? time.cpu_ns : time.wall_ns - time.cpu_ns;
  const double of_ns = side == Side::kOnCpu ? cpu_ns : life_ns - cpu_ns;
  const double true_share = std::max(0.0, std::min(1.0, true_ns / of_ns));

  const MeasuredShare measured = view.Share(function, side);
  const double samples = measured.weights.EffectiveSamples();
  const double bound = ShareBound(true_share, samples) + kReadingNs * time.count / of_ns;
  EXPECT_LT(bound, kWidestBound) << function << ": " << samples << " samples say too little";
  EXPECT_NEAR(measured.share, true_share, bound) << function << ", " << samples << " samples";
  ::testing::Test::RecordProperty(function, std::to_string(measured.share) + " of " +
                                                std::to_string(true_share) + " +- " +
                                                std::to_string(bound));
}

}  // namespace profd::accuracy
