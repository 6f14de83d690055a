#include "client/screens/summary/thread_rows.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using testing::Blocked;
using testing::ProfileMaker;
using testing::Running;

TEST(ThreadRowsTest, BusiestFirstWithExactTimes) {
  const auto rows = ThreadRows(testing::SmallProfile());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "demo");
  EXPECT_EQ(rows[0].tid, 4242u);
  EXPECT_EQ(rows[0].elapsed_ns, 2'000'000'000u);
  EXPECT_EQ(rows[0].on_cpu_ns, 1'680'000'000u);
  EXPECT_EQ(rows[0].runnable_ns, 20'000'000u);
  EXPECT_EQ(rows[0].blocked_ns, 300'000'000u);
  ASSERT_EQ(rows[1].waits.size(), 2u);
  EXPECT_EQ(rows[1].waits[0].reason, v1::WAIT_SLEEP);
  EXPECT_EQ(rows[1].waits[0].ns, 1'200'000'000u);
  EXPECT_EQ(rows[1].waits[1].reason, v1::WAIT_IO);
}

TEST(ThreadRowsTest, IdleThreadsOfAPoolAreOneRow) {
  ProfileMaker maker;
  maker.Add(maker.AddThread(4242, "main"), {"main"}, Running(1000));
  for (std::uint32_t i = 1; i <= 4; ++i)
    maker.Add(maker.AddThread(4242 + i, "pool-1"), {"run", "futex_wait_[k]"},
              Blocked(v1::WAIT_LOCK, 1000, 100));
  for (std::uint32_t i = 1; i <= 2; ++i)
    maker.Add(maker.AddThread(4300 + i, "io-" + std::to_string(i)), {"run", "read_[k]"},
              Blocked(v1::WAIT_PIPE, 1000, 100));
  const auto rows = ThreadRows(maker.Make());
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].name, "pool-1");
  EXPECT_EQ(rows[1].threads.size(), 4u);
  EXPECT_FALSE(rows[1].tid.has_value());
  EXPECT_EQ(rows[1].elapsed_ns, 4'000'000'000u);
  ASSERT_EQ(rows[1].waits.size(), 1u);
  EXPECT_EQ(rows[1].waits[0].points, 400u);
  EXPECT_EQ(rows[2].name, "io-*");
}

TEST(ThreadRowsTest, BusyOnesMainOnesAndOnesThatWaitForOtherThingsStayApart) {
  ProfileMaker maker;
  maker.Add(maker.AddThread(4242, "w"), {"f"}, Blocked(v1::WAIT_LOCK, 1000, 99));  // main
  maker.Add(maker.AddThread(1, "w"), {"f"}, Blocked(v1::WAIT_LOCK, 1000, 99));
  maker.Add(maker.AddThread(2, "w"), {"f"}, Blocked(v1::WAIT_POLL, 1000, 99));
  maker.Add(maker.AddThread(3, "w"), {"f"}, Running(1000));
  EXPECT_EQ(ThreadRows(maker.Make()).size(), 4u);
}

TEST(ThreadRowsTest, WithoutAClockTheSamplesMustDo) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "main");
  maker.Add(thread, {"f"}, Running(30));
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_IO, 70, 7));
  v1::Profile profile = maker.Make();
  profile.mutable_threads(0)->clear_clock();
  profile.mutable_threads(0)->set_clock_missing(true);
  const auto rows = ThreadRows(profile);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(rows[0].clock_missing);
  EXPECT_EQ(rows[0].on_cpu_ns, 30'000'000u);
  EXPECT_EQ(rows[0].blocked_ns, 70'000'000u);
}

TEST(ThreadRowsTest, EveryThreadIsInExactlyOneRow) {
  const v1::Profile profile = testing::ManyThreadsProfile(50);
  for (const auto& rows : {ThreadRows(profile), JoinPools(profile, ThreadRows(profile)),
                           JoinAlike(profile, ThreadRows(profile))}) {
    std::vector<int> seen(static_cast<std::size_t>(profile.threads_size()), 0);
    for (const ThreadRow& row : rows)
      for (const std::uint32_t thread : row.threads) ++seen[thread];
    for (const int count : seen) EXPECT_EQ(count, 1);
  }
}

TEST(ThreadRowsTest, PoolsAreJoinedWhateverTheyDo) {
  const v1::Profile profile = testing::ManyThreadsProfile(8);
  const auto rows = JoinPools(profile, ThreadRows(profile));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "pool-*");
  EXPECT_EQ(rows[0].on_cpu_ns, 80'000'000u);
}

// Four processes of one program, one of which waits less, and one of another with the same name.
v1::Profile ProcessesProfile() {
  ProfileMaker maker;
  maker.Add(maker.AddThread(4242, "other"), {"f"}, Blocked(v1::WAIT_LOCK, 1000, 99));
  for (std::uint32_t i = 0; i < 5; ++i) {
    const std::string script = i < 4 ? "train.py" : "serve.py";
    const std::uint32_t pid = 5000 + 10 * i;
    const auto process =
        maker.AddProcess(pid, "python3", "python3 " + script + " --rank=" + std::to_string(i));
    const auto main = maker.AddThread(pid, "python3", process);
    const std::uint64_t waits_ms = i == 3 ? 500 : 900;
    maker.Add(main, {"f"}, Blocked(v1::WAIT_LOCK, waits_ms, 99));
    maker.Add(main, {"f"}, Running(1000 - waits_ms));
    const auto worker = maker.AddThread(pid + 1, "worker", process);
    maker.Add(worker, {"g"}, Blocked(v1::WAIT_DRIVER, 900, 99));
    maker.Add(worker, {"g"}, Running(100));
  }
  return maker.Make();
}

TEST(ThreadRowsTest, PoolsOfAlikeProcessesAreOne) {
  const v1::Profile profile = ProcessesProfile();
  const auto rows = JoinPools(profile, ThreadRows(profile));
  ASSERT_EQ(rows.size(), 5u);  // main and worker of each program, and the other
  const auto worker = std::ranges::find_if(
      rows, [](const ThreadRow& row) { return row.name == "worker" && row.processes == 4; });
  ASSERT_NE(worker, rows.end());
  EXPECT_FALSE(IsMain(profile, *worker));
  EXPECT_EQ(worker->threads.size(), 4u);
  EXPECT_EQ(worker->on_cpu_ns, 400'000'000u);
}

TEST(ThreadRowsTest, WhoIsNotLikeTheOthersStaysApart) {
  const v1::Profile profile = ProcessesProfile();
  const auto rows = JoinAlike(profile, ThreadRows(profile));
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0].tid, 5030u);  // the busiest
  EXPECT_TRUE(IsMain(profile, rows[0]));
  EXPECT_EQ(rows[0].processes, 1u);
  const auto mains = std::ranges::count_if(rows, [&](const ThreadRow& row) {
    return IsMain(profile, row) && row.threads.size() == 3 && row.processes == 3;
  });
  EXPECT_EQ(mains, 1);
}

TEST(ThreadRowsTest, FewMarksAreRoughUnlessTheTimeWasMeasured) {
  EXPECT_TRUE(IsRough(1'000, 9, 0));
  EXPECT_FALSE(IsRough(1'000, 10, 0));
  EXPECT_FALSE(IsRough(1'000, 1, 1'000));
  EXPECT_TRUE(IsRough(1'000, 1, 500));
}

TEST(ThreadRowsTest, SurvivesEmptyAndHostileProfiles) {
  EXPECT_TRUE(ThreadRows(v1::Profile()).empty());
  EXPECT_EQ(ThreadRows(testing::EmptyProfile()).size(), 1u);
  EXPECT_FALSE(ThreadRows(testing::HostileProfile()).empty());
}

}  // namespace
}  // namespace profd::client
