#include "client/screens/top/top_rows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using testing::ProfileMaker;

constexpr std::uint64_t kMs = 1'000'000;

const TopRow& Row(const std::vector<TopRow>& rows, const std::string& name) {
  static const TopRow kNone;
  const auto found = std::ranges::find(rows, name, &TopRow::name);
  EXPECT_NE(found, rows.end()) << name;
  return found == rows.end() ? kNone : *found;
}

std::uint64_t Ns(const StateTimes& times, v1::State state) {
  return times.states[static_cast<std::size_t>(state)].ns;
}

TEST(TopRowsTest, ThreadsHaveTheirExactClocksAndMainWait) {
  const auto rows = TopThreads(testing::SmallProfile());
  ASSERT_EQ(rows.size(), 2u);
  const TopRow& main = Row(rows, "demo");
  EXPECT_EQ(main.pid, 4242u);
  EXPECT_EQ(main.tid, 4242u);
  EXPECT_EQ(Ns(main.total, v1::STATE_ON_CPU), 1'680 * kMs);
  EXPECT_EQ(Ns(main.total, v1::STATE_RUNNABLE), 20 * kMs);
  EXPECT_EQ(Ns(main.total, v1::STATE_BLOCKED), 300 * kMs);
  EXPECT_EQ(main.total.ns(), main.elapsed_ns);
  EXPECT_EQ(main.total.main_wait(), v1::WAIT_LOCK);
  EXPECT_EQ(Row(rows, "worker").total.main_wait(), v1::WAIT_SLEEP);
}

TEST(TopRowsTest, AProcessIsTheSumOfItsThreads) {
  const auto rows = TopProcesses(testing::SmallProfile());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].threads, 2u);
  EXPECT_EQ(rows[0].elapsed_ns, 4'000 * kMs);
  EXPECT_EQ(Ns(rows[0].total, v1::STATE_BLOCKED), 2'300 * kMs);
  EXPECT_EQ(rows[0].total.main_wait(), v1::WAIT_SLEEP);
}

TEST(TopRowsTest, FunctionsHaveSelfAndTotal) {
  const auto rows = TopFunctions(testing::SmallProfile(), true);
  const TopRow& compute = Row(rows, "compute");
  EXPECT_EQ(Ns(compute.self, v1::STATE_ON_CPU), 1'680 * kMs);
  EXPECT_EQ(compute.self.states[v1::STATE_ON_CPU].points, 168u);
  EXPECT_EQ(compute.self.ns(), compute.total.ns());
  const TopRow& main = Row(rows, "main");
  EXPECT_EQ(main.self.ns(), 0u);
  EXPECT_EQ(main.total.ns(), 2'000 * kMs);
  EXPECT_EQ(Row(rows, "_start").total.ns(), 4'000 * kMs);
  EXPECT_EQ(Row(rows, "futex_wait_[k]").self.main_wait(), v1::WAIT_LOCK);
}

TEST(TopRowsTest, KernelFunctionsCanBePartOfTheirCallers) {
  const auto rows = TopFunctions(testing::SmallProfile(), false);
  EXPECT_EQ(std::ranges::count(rows, "futex_wait_[k]", &TopRow::name), 0);
  EXPECT_EQ(Ns(Row(rows, "wait").self, v1::STATE_BLOCKED), 300 * kMs);
}

TEST(TopRowsTest, AThreadOfTheKernelKeepsItsFunctions) {
  ProfileMaker maker;
  maker.Add(maker.AddThread(4242, "kworker"), {"ret_from_fork_[k]", "worker_[k]"});
  EXPECT_EQ(Row(TopFunctions(maker.Make(), false), "worker_[k]").self.ns(), 10 * kMs);
}

TEST(TopRowsTest, ARecursionCountsOnce) {
  ProfileMaker maker;
  maker.Add(maker.AddThread(4242, "demo"), {"main", "f", "g", "f"});
  const auto rows = TopFunctions(maker.Make(), true);
  EXPECT_EQ(Row(rows, "f").total.ns(), 10 * kMs);
  EXPECT_EQ(Row(rows, "f").self.ns(), 10 * kMs);
}

TEST(TopRowsTest, PythonFunctionsAreOneWhateverTheirLine) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "python3");
  maker.Add(thread, {"work (a.py:1)"});
  maker.Add(thread, {"work (a.py:2)"});
  const auto rows = TopFunctions(maker.Make(), true);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "work (a.py)");
}

TEST(TopRowsTest, SortedByTheRequestedColumn) {
  TopState state{.view = TopView::kThreads};
  EXPECT_EQ(TopRowsOf(testing::SmallProfile(), state).front().name, "demo");
  state.sort = TopSort::kBlocked;
  EXPECT_EQ(TopRowsOf(testing::SmallProfile(), state).front().name, "worker");
  state.sort = TopSort::kName;
  EXPECT_EQ(TopRowsOf(testing::SmallProfile(), state).front().name, "demo");
  TopState functions{.view = TopView::kFunctions, .sort = TopSort::kBlocked};
  EXPECT_EQ(TopRowsOf(testing::SmallProfile(), functions).front().name, "run");
  functions.total = true;
  EXPECT_EQ(TopRowsOf(testing::SmallProfile(), functions).front().name, "_start");
  functions.sort = TopSort::kSelf;
  EXPECT_EQ(TopRowsOf(testing::SmallProfile(), functions).front().name, "compute");
}

TEST(TopRowsTest, FilterLooksAtNamesCommandLinesAndNumbers) {
  const auto left = [](const char* filter) {
    return TopRowsOf(testing::SmallProfile(), {.view = TopView::kThreads, .filter = filter}).size();
  };
  EXPECT_EQ(left("WORK"), 1u);
  EXPECT_EQ(left("4243"), 1u);
  EXPECT_EQ(left("4242"), 2u);  // their process
  EXPECT_EQ(left("424"), 0u);
  EXPECT_EQ(left("no-such-name"), 0u);
}

}  // namespace
}  // namespace profd::client
