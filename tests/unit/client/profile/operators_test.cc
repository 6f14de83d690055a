#include "client/profile/operators/operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "client/profile/check_profile.h"
#include "client/profile/operators/region_workers.h"
#include "client/profile/profile_facts.h"
#include "client/profile/profile_parts.h"
#include "client/profile/report/report_table.h"
#include "client/profile/threads/spin_cause.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kMs = 1'000'000;

// Frames are marked by name: "aten::mm" is an operator of rank 1, "2:gemm" of rank 2, "<backward>"
// begins that phase.
class OperatorsTest : public ::testing::Test {
 protected:
  OperatorsTest() : thread_(maker_.AddThread(1, "t")) {}

  void Add(const std::vector<std::string>& stack, const testing::SampleSpec& spec = {},
           std::uint32_t flags = kWhole) {
    AddOf(thread_, stack, spec, flags);
  }
  void AddOf(std::uint32_t thread, const std::vector<std::string>& stack,
             const testing::SampleSpec& spec = {}, std::uint32_t flags = kWhole) {
    maker_.Add(thread, stack, spec);
    maker_.profile().mutable_samples()->set_stack_flags(
        maker_.profile().samples().stack_flags_size() - 1, flags);
  }

  [[nodiscard]] v1::Profile Make() {
    v1::Profile profile = maker_.Make();
    std::map<std::string, std::uint32_t> known;
    for (v1::Frame& frame : *profile.mutable_frames()) {
      const std::string& name = frame.name();
      for (int phase = 1; phase < v1::Phase_ARRAYSIZE; ++phase)
        if (name == "<" + std::string(PhaseName(static_cast<v1::Phase>(phase))) + ">")
          frame.set_phase(static_cast<v1::Phase>(phase));
      const bool ranked = name.size() > 2 && name[1] == ':';
      if (!ranked && !name.starts_with("aten::")) continue;
      const auto [op, is_new] =
          known.emplace(name, static_cast<std::uint32_t>(profile.operators_size()) + 1);
      if (is_new) {
        v1::Operator& added = *profile.add_operators();
        added.set_name(ranked ? name.substr(2) : name);
        added.set_rank(ranked ? static_cast<std::uint32_t>(name[0] - '0') : 1);
      }
      frame.set_op(op->second);
    }
    EXPECT_TRUE(CheckProfile(profile));
    return profile;
  }

  // By sample; "" for none.
  [[nodiscard]] static std::vector<std::string> Names(const v1::Profile& profile) {
    const Operators operators(profile);
    std::vector<std::string> names;
    for (int i = 0; i < profile.samples().weight_ns_size(); ++i) {
      const auto op = operators.OperatorOf(i);
      names.push_back(op ? operators.names()[*op] : "");
    }
    return names;
  }
  [[nodiscard]] static std::vector<std::string> Phases(const v1::Profile& profile) {
    const Operators operators(profile);
    std::vector<std::string> names;
    for (int i = 0; i < profile.samples().weight_ns_size(); ++i)
      names.emplace_back(PhaseName(operators.PhaseOf(i)));
    return names;
  }

  static constexpr std::uint32_t kWhole = 32;
  testing::ProfileMaker maker_;
  const std::uint32_t thread_;
};

TEST_F(OperatorsTest, RankComesBeforeDepth) {
  Add({"main", "aten::mm", "4:gemm"});
  Add({"main", "4:gemm", "2:mm", "4:gemm"});
  Add({"main", "aten::linear", "2:x", "aten::mm", "memcpy"});
  Add({"main", "aten::linear", "read_[k]"});
  Add({"main"});
  Add({});
  EXPECT_THAT(Names(Make()), ElementsAre("aten::mm", "mm", "aten::mm", "aten::linear", "", ""));
}

TEST_F(OperatorsTest, TheOutermostPhaseWinsAndForwardIsTheWeakest) {
  Add({"main", "<backward>", "<optimizer>", "f"});
  Add({"main", "<forward>", "f"});
  Add({"main", "<forward>", "<communication>", "<data>"});
  Add({"main", "<data>", "<forward>"});
  Add({"main", "f"});
  Add({"<other>"});
  EXPECT_THAT(Phases(Make()),
              ElementsAre("backward", "forward", "communication", "data", "", "other"));
}

TEST_F(OperatorsTest, AnOperatorTwiceInAChainCountsOnce) {
  Add({"aten::linear", "aten::mm", "aten::mm", "4:gemm"}, testing::Running(30, 3));
  Add({"aten::linear"}, testing::Running(10, 1));
  const v1::Profile profile = Make();
  const Operators operators(profile);
  const OperatorTable table = TableOf(profile, operators);
  std::vector<std::string> lines;
  for (const OperatorRow& row : table.rows)
    lines.push_back(
        operators.names()[row.op.value()] + " " + std::to_string(row.self.working_ns / kMs) + " " +
        std::to_string(row.total_working_ns / kMs) + " " + std::to_string(row.self.samples));
  EXPECT_THAT(lines, ElementsAre("aten::mm 30 30 3", "aten::linear 10 40 1", "gemm 0 30 0"));
}

TEST_F(OperatorsTest, TheTableHasAllTimeByState) {
  const auto spin = maker_.AddRule(v1::CLASS_SPIN, "wait");
  Add({"aten::mm"}, testing::Running(50, 5));
  Add({"aten::mm"}, testing::Runnable(7));
  Add({"aten::mm", "futex_[k]"}, testing::Blocked(v1::WAIT_LOCK, 8));
  Add({"aten::mm", "wait"}, {.weight_ns = 20 * kMs, .count = 2, .rule = spin});
  Add({"main"}, testing::Running(30, 3));
  Add({"5:(parallel worker)", "f"}, testing::Running(20, 2));
  const v1::Profile profile = Make();
  const Operators operators(profile);
  const OperatorTable table = TableOf(profile, operators);
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(operators.names()[table.rows[0].op.value()], "aten::mm");
  EXPECT_EQ(table.rows[0].self.working_ns, 50 * kMs);
  EXPECT_EQ(table.rows[0].self.spinning_ns, 20 * kMs);
  EXPECT_EQ(table.rows[0].self.runnable_ns, 7 * kMs);
  EXPECT_EQ(table.rows[0].self.blocked_ns, 8 * kMs);
  EXPECT_EQ(table.rows[0].self.samples, 9u);
  EXPECT_EQ(table.rows[1].op, std::nullopt);
  EXPECT_EQ(table.rows[1].total_working_ns, 30 * kMs);
  EXPECT_TRUE(operators.IsWorker(table.rows[2].op.value()));
  EXPECT_FALSE(operators.IsNamed(table.rows[2].op.value()));
  EXPECT_EQ(table.inferred_ns, 0u) << "there is no region";
  EXPECT_EQ(table.working_ns, 100 * kMs);
  EXPECT_EQ(table.named_ns, 50 * kMs) << "a worker is no name";
  EXPECT_EQ(CoverageText(table, operators),
            "operators named for 50 % of working time; 0 % of stacks incomplete");
}

TEST_F(OperatorsTest, ALeaderInItsRegionIsNoWorker) {
  Add({"6:(parallel region)", "5:(parallel worker)", "f"}, testing::Running(10, 1));
  Add({"5:(parallel worker)", "6:(parallel region)", "f"}, testing::Running(10, 1));
  const v1::Profile profile = Make();
  EXPECT_THAT(Names(profile), ElementsAre("(parallel region)", "(parallel worker)"));
  const Operators operators(profile);
  EXPECT_TRUE(operators.IsInRegion(profile.samples().node(0)));
  EXPECT_FALSE(operators.IsInPool(profile.samples().node(0)));
  EXPECT_TRUE(operators.IsInPool(profile.samples().node(1)));
  const OperatorTable table = TableOf(profile, operators);
  const auto of_workers = std::ranges::find_if(
      table.rows, [&](const OperatorRow& row) { return row.op && operators.IsWorker(*row.op); });
  ASSERT_NE(of_workers, table.rows.end());
  EXPECT_EQ(of_workers->total_working_ns, 10 * kMs);
}

// Each sample of a thread lies 10 ms behind the one before.
class RegionWorkersTest : public OperatorsTest {
 protected:
  RegionWorkersTest() { maker_.profile().set_on_cpu_period_ns(10 * kMs); }

  // By sample of `thread`: the operator that its work is for; "": not known.
  [[nodiscard]] static std::vector<std::string> NamesFor(const v1::Profile& profile,
                                                         std::uint32_t thread) {
    const Operators operators(profile);
    const RegionWorkers workers(profile, operators);
    std::vector<std::string> names;
    for (int i = 0; i < profile.samples().weight_ns_size(); ++i) {
      if (profile.samples().thread(i) != thread) continue;
      const auto leader = workers.LeaderOf(i);
      const auto op = leader ? operators.OperatorOf(*leader) : std::nullopt;
      names.push_back(op ? operators.names()[*op] : "");
    }
    return names;
  }
  // `leads`: in a region.
  void Lead(std::uint32_t thread, const std::string& op, bool leads = true) {
    AddOf(thread, leads ? std::vector<std::string>{op, "6:(parallel region)", "f"}
                        : std::vector<std::string>{op, "f"});
  }
  void Work(std::uint32_t thread) { AddOf(thread, {"5:(parallel worker)", "f"}); }
};

TEST_F(RegionWorkersTest, WorkIsForTheThreadThatLeadsARegionThen) {
  const std::uint32_t worker = maker_.AddThread(2, "pool");
  for (const char* op : {"aten::mm", "aten::add", "aten::mm"}) Lead(thread_, op);
  for (int i = 0; i < 3; ++i) Work(worker);
  const v1::Profile profile = Make();
  EXPECT_THAT(NamesFor(profile, worker), ElementsAre("aten::mm", "aten::add", "aten::mm"));
  const Operators operators(profile);
  const OperatorTable table = TableOf(profile, operators);
  EXPECT_EQ(operators.names()[table.rows[0].op.value()], "(parallel worker)");
  EXPECT_EQ(table.rows[0].workers_ns, 0u);
  EXPECT_EQ(operators.names()[table.rows[1].op.value()], "aten::mm");
  EXPECT_EQ(table.rows[1].self.working_ns, 20 * kMs);
  EXPECT_EQ(table.rows[1].workers_ns, 20 * kMs);
  EXPECT_EQ(table.inferred_ns, 30 * kMs);
  EXPECT_EQ(CoverageText(table, operators),
            "operators named for 50 % of working time, with workers ~100 %; 0 % of stacks "
            "incomplete");
}

TEST_F(RegionWorkersTest, WhereNoThreadOrMoreThanOneLeadsItIsNotKnown) {
  const std::uint32_t other = maker_.AddThread(2, "other");
  const std::uint32_t worker = maker_.AddThread(3, "pool");
  Lead(thread_, "aten::mm");
  Lead(other, "aten::add", false);
  Lead(thread_, "aten::mm");
  Lead(other, "aten::add");
  Lead(thread_, "aten::mm", false);
  Lead(other, "aten::add", false);
  for (int i = 0; i < 3; ++i) Work(worker);
  EXPECT_THAT(NamesFor(Make(), worker), ElementsAre("aten::mm", "", ""));
}

TEST_F(RegionWorkersTest, ThreadsOfOtherProcessesDoNotCount) {
  const std::uint32_t process = maker_.AddProcess(77, "other");
  const std::uint32_t worker = maker_.AddThread(78, "pool", process);
  Lead(thread_, "aten::mm");
  Work(worker);
  EXPECT_THAT(NamesFor(Make(), worker), ElementsAre(""));
}

TEST_F(RegionWorkersTest, ASampleFarAwaySaysNothing) {
  const std::uint32_t worker = maker_.AddThread(2, "pool");
  Lead(thread_, "aten::mm");
  for (int i = 0; i < 4; ++i) Work(worker);
  EXPECT_THAT(NamesFor(Make(), worker), ElementsAre("aten::mm", "aten::mm", "aten::mm", ""))
      << "two periods";
}

TEST_F(RegionWorkersTest, ALeaderThatWaitsIsInItsRegionAllTheTime) {
  const std::uint32_t worker = maker_.AddThread(2, "pool");
  AddOf(thread_, {"aten::mm", "6:(parallel region)", "futex_[k]"},
        testing::Blocked(v1::WAIT_LOCK, 60, 6));
  for (int i = 0; i < 5; ++i) Work(worker);
  v1::Profile profile = Make();
  // As in a session: its samples have times, and a long one stands for several points.
  profile.mutable_samples()->mutable_edges()->Resize(profile.samples().node_size(), 0);
  EXPECT_THAT(NamesFor(profile, worker), ::testing::Each("aten::mm"));
}

TEST_F(RegionWorkersTest, WorkersThatSpinOrWaitWorkForNoOperator) {
  const auto spin = maker_.AddRule(v1::CLASS_SPIN, "wait");
  const std::uint32_t worker = maker_.AddThread(2, "pool");
  for (int i = 0; i < 2; ++i) Lead(thread_, "aten::mm");
  AddOf(worker, {"5:(parallel worker)", "wait"}, {.rule = spin});
  AddOf(worker, {"5:(parallel worker)", "futex_[k]"}, testing::Blocked(v1::WAIT_LOCK, 10));
  EXPECT_THAT(NamesFor(Make(), worker), ElementsAre("", ""));
}

TEST_F(RegionWorkersTest, WithoutTimesOfSamplesNoLeaderIsKnown) {
  const std::uint32_t worker = maker_.AddThread(2, "pool");
  Lead(thread_, "aten::mm");
  Work(worker);
  v1::Profile profile = Make();
  profile.mutable_samples()->set_count(1, 2);  // a sum of samples, as in the history
  ASSERT_FALSE(HasSampleTimes(profile));
  EXPECT_THAT(NamesFor(profile, worker), ElementsAre(""));
}

TEST_F(RegionWorkersTest, WorkersSpinWhereNoRegionRunsOrOthersWorkInIt) {
  const auto spin = maker_.AddRule(v1::CLASS_SPIN, "wait");
  const testing::SampleSpec spins{.weight_ns = 10 * kMs, .rule = spin};
  const std::uint32_t worker = maker_.AddThread(2, "pool");
  for (const bool leads : {true, false, false}) Lead(thread_, "aten::mm", leads);
  for (int i = 0; i < 3; ++i) AddOf(worker, {"5:(parallel worker)", "wait"}, spins);
  AddOf(thread_, {"aten::mm", "6:(parallel region)", "wait"}, spins);
  // At its end, which has no frame of it.
  AddOf(thread_, {"aten::mm", "5:(parallel worker)", "wait"}, spins);
  // No worker: it waits for a lock of its own.
  const std::uint32_t other = maker_.AddThread(3, "other");
  AddOf(other, {"main", "wait"}, spins);
  // No sample of the leader is near.
  for (int i = 0; i < 4; ++i) Work(worker);
  AddOf(worker, {"5:(parallel worker)", "wait"}, spins);
  const auto causes = SpinCausesOf(Make());
  ASSERT_EQ(causes.size(), 3u);
  EXPECT_EQ(causes[thread_].imbalance_ns, 20 * kMs);
  EXPECT_EQ(causes[thread_].serial_ns, 0u);
  EXPECT_EQ(causes[worker].imbalance_ns, 10 * kMs);
  EXPECT_EQ(causes[worker].serial_ns, 20 * kMs);
  EXPECT_EQ(causes[other].imbalance_ns + causes[other].serial_ns, 0u);
}

TEST_F(OperatorsTest, PhasesAddUpToAllTime) {
  Add({"<backward>"}, testing::Running(10));
  Add({"<backward>", "f"}, testing::Blocked(v1::WAIT_IO, 5));
  Add({"main"}, testing::Running(40));
  const v1::Profile profile = Make();
  const OperatorTable table = TableOf(profile, Operators(profile));
  ASSERT_EQ(table.phases.size(), 2u);
  EXPECT_EQ(table.phases[0].phase, v1::PHASE_NONE);
  EXPECT_EQ(table.phases[0].time.working_ns, 40 * kMs);
  EXPECT_EQ(table.phases[1].phase, v1::PHASE_BACKWARD);
  EXPECT_EQ(table.phases[1].time.working_ns, 10 * kMs);
  EXPECT_EQ(table.phases[1].time.blocked_ns, 5 * kMs);
}

TEST_F(OperatorsTest, StacksThatDoNotReachTheirRootAreCounted) {
  Add({"aten::mm"}, testing::Running(10, 6));
  Add({"aten::mm"}, testing::Running(10, 2), 2048);
  Add({"read_[k]"}, testing::Running(10, 9), 16);
  Add({"aten::mm"}, testing::Runnable(10, 9), 2048);
  const v1::Profile profile = Make();
  const OperatorTable table = TableOf(profile, Operators(profile));
  EXPECT_EQ(table.stacks, 8u) << "of work, with a user part";
  EXPECT_EQ(table.incomplete_stacks, 2u);
}

TEST_F(OperatorsTest, NamesAreSafeAndOneEach) {
  Add({"aten::mm\x1b"});
  Add({"2:aten::mm\x1b"});
  Add({"5:worker"});
  const v1::Profile profile = Make();
  const Operators operators(profile);
  EXPECT_THAT(operators.names(), ElementsAre("aten::mm?", "worker"));
  EXPECT_EQ(operators.OperatorOf(0), operators.OperatorOf(1)) << "of two ranks";
  EXPECT_FALSE(operators.IsWorker(0));
  EXPECT_TRUE(operators.IsWorker(1));
}

TEST_F(OperatorsTest, APartOfAProfileKeepsItsOperators) {
  Add({"<backward>", "aten::mm", "4:gemm"});
  maker_.Add(maker_.AddThread(2, "other"), {"main"});
  ThreadFilter filter;
  filter.tid = 1;
  const auto part = OnlyThreads(Make(), filter);
  ASSERT_TRUE(part);
  EXPECT_THAT(Names(*part), ElementsAre("aten::mm"));
  EXPECT_THAT(Phases(*part), ElementsAre("backward"));
}

TEST_F(OperatorsTest, APhaseOfANewerProfdIsAnother) {
  Add({"main"});
  v1::Profile profile = Make();
  profile.mutable_frames(0)->set_phase(static_cast<v1::Phase>(77));
  EXPECT_THAT(Phases(profile), ElementsAre("other"));
}

TEST(Operators, AnOldFileHasNone) {
  const v1::Profile profile = testing::SmallProfile();
  const Operators operators(profile);
  EXPECT_TRUE(operators.empty());
  EXPECT_EQ(operators.OperatorOf(0), std::nullopt);
  EXPECT_EQ(operators.PhaseOf(0), v1::PHASE_NONE);
  EXPECT_EQ(CoverageText(TableOf(profile, operators), operators), "no operators in this file");
}

TEST(Operators, AFrameThatPointsNowhereIsRefused) {
  v1::Profile profile = testing::SmallProfile();
  profile.mutable_frames(0)->set_op(1);
  const auto checked = CheckProfile(profile);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message, "the profile is damaged: frame 0 points at operator 1 of 1");
}

TEST_F(OperatorsTest, TimePerStepIsThatOfAllThreadsInWholeSteps) {
  const auto other = maker_.AddThread(2, "other");
  for (int step = 0; step < 4; ++step) {
    Add({"aten::mm"}, testing::Running(30));
    Add({"aten::add"}, testing::Running(10));
    AddOf(other, {"aten::add"}, testing::Running(40));
  }
  const v1::Profile profile = Make();
  const StepLoop steps{.thread = thread_,
                       .function = "",
                       .name = "",
                       .file = "",
                       .borders = {{profile.start_ns() + 40 * kMs, 0},
                                   {profile.start_ns() + 80 * kMs, 0},
                                   {profile.start_ns() + 120 * kMs, 0}}};
  const auto keys = ParseReportKeys("operator");
  ASSERT_TRUE(keys);
  const ReportTable table = TableBy(*keys->front(), profile, {.steps = &steps});
  ASSERT_EQ(table.steps, &steps);
  std::map<std::string, std::uint64_t> ms;
  for (const ReportRow& row : table.rows) ms[row.name] = table.StepNs(row) / kMs;
  EXPECT_THAT(ms, ElementsAre(::testing::Pair("aten::add", 50u), ::testing::Pair("aten::mm", 30u)));
  EXPECT_EQ(TableBy(*keys->front(), profile, {}).steps, nullptr);
  const auto threads = ParseReportKeys("thread");
  EXPECT_EQ(TableBy(*threads->front(), profile, {.steps = &steps}).steps, nullptr)
      << "of operators and phases only";
}

}  // namespace
}  // namespace profd::client
