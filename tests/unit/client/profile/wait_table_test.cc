#include "client/profile/waits/wait_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using testing::Blocked;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ProfileMaker;
using testing::StepSpec;

// "demo lock engine-worker"
std::string Name(const WaitTable& table, const WaitRow& row) {
  return table.groups[row.waiter].name + " " + v1::WaitReason_Name(row.wait) + " " +
         table.groups[row.waker].name;
}

std::vector<std::string> Names(const WaitTable& table) {
  std::vector<std::string> names;
  for (const WaitRow& row : table.rows) names.push_back(Name(table, row));
  return names;
}

std::vector<std::pair<std::string, std::uint64_t>> Ends(const WaitTable& table,
                                                        const WaitRow& row) {
  std::vector<std::pair<std::string, std::uint64_t>> ends;
  for (const WaitEnd& end : row.ends)
    ends.emplace_back(table.groups[end.group].name + " " + v1::PathKind_Name(end.kind),
                      end.cost.ns / 1'000'000);
  return ends;
}

std::vector<std::vector<std::string>> KnotsOf(const WaitTable& table) {
  std::vector<std::vector<std::string>> knots;
  for (const auto& knot : WaitGraph::Of(table).knots) {
    knots.emplace_back();
    for (const std::uint32_t group : knot) knots.back().push_back(table.groups[group].name);
    std::ranges::sort(knots.back());
  }
  return knots;
}

TEST(WaitTable, RowsAreWaiterReasonAndWaker) {
  const WaitTable table = WaitTable::Of(testing::WaitingProfile());
  EXPECT_THAT(Names(table),
              ElementsAre("demo WAIT_LOCK engine-worker", "demo WAIT_SLEEP [timer]",
                          "demo WAIT_PIPE store/io-*", "demo WAIT_LOCK [still waits]",
                          "demo WAIT_LOCK [wake-up not seen]", "engine-worker WAIT_IO [disk]"));
  const WaitRow& worker = table.rows[0];
  EXPECT_EQ(worker.cost.ns, 830'000'000u);
  EXPECT_EQ(worker.cost.points, 83u);
  EXPECT_EQ(worker.waits, 83u);
  EXPECT_EQ(worker.spurious, 2u);
  EXPECT_THAT(Ends(table, worker), ElementsAre(std::pair("engine-worker PATH_RUNS", 620u),
                                               std::pair("[disk] PATH_DISK", 210u)));
  EXPECT_EQ(table.groups[worker.waiter].blocked_ns, 1'000'000'000u);
  EXPECT_EQ(table.groups[worker.waker].blocked_ns, 210'000'000u);
  EXPECT_EQ(table.groups[worker.waker].threads, 1u);
  EXPECT_EQ(table.groups[table.rows[2].waker].threads, 0u) << "it is not of the session";
}

TEST(WaitTable, RowsAndTheirEndsAddUp) {
  for (const v1::Profile& profile :
       {testing::WaitingProfile(), testing::SmallProfile(), testing::EmptyProfile()}) {
    const WaitTable table = WaitTable::Of(profile);
    std::uint64_t blocked_ns = 0;
    for (int i = 0; i < profile.samples().weight_ns_size(); ++i)
      if (profile.samples().state(i) == v1::STATE_BLOCKED)
        blocked_ns += profile.samples().weight_ns(i);
    EXPECT_EQ(table.blocked_ns, blocked_ns);
    for (const WaitRow& row : table.rows) {
      blocked_ns -= row.cost.ns;
      std::uint64_t ends_ns = 0;
      for (const WaitEnd& end : row.ends) ends_ns += end.cost.ns;
      EXPECT_EQ(ends_ns, row.cost.ns) << Name(table, row);
    }
    EXPECT_EQ(blocked_ns, 0u);
  }
}

TEST(WaitTable, AlikeThreadsAndProcessesAreOneGroup) {
  ProfileMaker maker;
  maker.profile().mutable_processes(0)->set_comm("train");
  const auto other = maker.AddProcess(4300, "train");
  const auto first = maker.AddPathThread(5001, "engine-1", 4242, "train");
  const auto second = maker.AddPathThread(5002, "engine-2", 4300, "train");
  maker.Add(maker.AddThread(4242, "train"), {"f"},
            Blocked(v1::WAIT_LOCK, 10, 1, maker.AddPath({{.thread = first}})));
  maker.Add(maker.AddThread(4300, "train", other), {"f"},
            Blocked(v1::WAIT_LOCK, 30, 3, maker.AddPath({{.thread = second}})));
  const WaitTable table = WaitTable::Of(maker.Make());
  ASSERT_THAT(Names(table), ElementsAre("train WAIT_LOCK engine-*"));
  EXPECT_EQ(table.rows[0].cost.ns, 40'000'000u);
  EXPECT_EQ(table.groups[table.rows[0].waiter].threads, 2u);
}

TEST(WaitTable, ProcessesOfSeveralNamesAreSaid) {
  ProfileMaker maker;
  const auto other = maker.AddProcess(4300, "train");
  const auto engine = maker.AddPathThread(5001, "engine", 4300, "train");
  maker.Add(maker.AddThread(4300, "train", other), {"f"},
            Blocked(v1::WAIT_LOCK, 10, 1, maker.AddPath({{.thread = engine}})));
  EXPECT_THAT(Names(WaitTable::Of(maker.Make())), ElementsAre("train WAIT_LOCK train/engine"));
}

TEST(WaitTable, AnEndSaysWhichThreadIsTheLast) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  const StepSpec b{.kind = v1::PATH_WAITS, .thread = maker.AddPathThread(1, "b")};
  const StepSpec c{.kind = v1::PATH_WAITS, .thread = maker.AddPathThread(2, "c")};
  const StepSpec timer{.kind = v1::PATH_TIMER};
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_LOCK, 10, 1, maker.AddPath({b, timer})));
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_LOCK, 20, 2, maker.AddPath({b, c, timer})));
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_SLEEP, 30, 3, maker.AddPath({timer})));
  const WaitTable table = WaitTable::Of(maker.Make());
  ASSERT_THAT(Names(table), ElementsAre("demo WAIT_LOCK b", "demo WAIT_SLEEP [timer]"));
  ASSERT_EQ(table.rows[0].ends.size(), 2u);
  EXPECT_EQ(table.groups[table.rows[0].ends[0].thread].name, "c");
  EXPECT_EQ(table.groups[table.rows[0].ends[1].thread].name, "b");
  EXPECT_EQ(table.groups[table.rows[1].ends[0].thread].name, "[timer]");
}

TEST(WaitTable, WhoIsIdleAllTheTimeComesLast) {
  ProfileMaker maker;
  const auto idle = maker.AddThread(4243, "idle");
  const auto busy = maker.AddThread(4242, "demo");
  maker.Add(idle, {"f"},
            Blocked(v1::WAIT_LOCK, 900, 90, maker.AddPath({{.kind = v1::PATH_STILL_WAITS}})));
  maker.Add(busy, {"f"}, Blocked(v1::WAIT_SLEEP, 10, 1, maker.AddPath({{.kind = v1::PATH_TIMER}})));
  EXPECT_THAT(Names(WaitTable::Of(maker.Make())),
              ElementsAre("demo WAIT_SLEEP [timer]", "idle WAIT_LOCK [still waits]"));
}

TEST(WaitTable, SpuriousWakeUpsThatCostNoTimeHaveARow) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  const auto peer = maker.AddPathThread(5001, "peer");
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_LOCK, 10, 1));
  maker.AddWakeUps(thread, peer, v1::WAIT_LOCK, 7, 7);
  const WaitTable table = WaitTable::Of(maker.Make());
  ASSERT_THAT(Names(table), ElementsAre("demo WAIT_LOCK [not sampled]", "demo WAIT_LOCK peer"));
  EXPECT_EQ(table.rows[1].cost.ns, 0u);
  EXPECT_EQ(table.rows[1].spurious, 7u);
  EXPECT_THAT(table.rows[1].ends, IsEmpty());
}

TEST(WaitTable, WhatIsNotKnownBehindAThreadIsSaidOfIt) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  const StepSpec peer{.kind = v1::PATH_WAITS, .thread = maker.AddPathThread(5001, "peer")};
  maker.Add(thread, {"f"},
            Blocked(v1::WAIT_LOCK, 10, 1, maker.AddPath({peer, {.kind = v1::PATH_NOT_SEEN}})));
  const WaitTable table = WaitTable::Of(maker.Make());
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_THAT(Ends(table, table.rows[0]), ElementsAre(std::pair("peer PATH_NOT_SEEN", 10u)));
}

TEST(WaitGraph, SolidEdgesForWakersAndDashedOnesForOtherEnds) {
  const WaitTable table = WaitTable::Of(testing::WaitingProfile());
  const WaitGraph graph = WaitGraph::Of(table);
  std::vector<std::string> edges;
  for (const WaitEdge& edge : graph.edges)
    edges.push_back(table.groups[edge.from].name + (edge.is_end ? " - - " : " -> ") +
                    table.groups[edge.to].name + " " + std::to_string(edge.ns / 1'000'000) + " " +
                    edge.words.front());
  EXPECT_THAT(edges, ::testing::UnorderedElementsAre(
                         "demo -> engine-worker 830 lock", "demo - - [disk] 210 disk",
                         "engine-worker -> [disk] 210 io", "demo -> [timer] 98 sleep",
                         "demo -> store/io-* 42 pipe", "demo -> [still waits] 20 lock",
                         "demo -> [wake-up not seen] 10 lock"));
  EXPECT_EQ(graph.left_out_ns, 0u);
  EXPECT_THAT(graph.knots, IsEmpty());
}

TEST(WaitGraph, LightEdgesAreLeftOutAndCounted) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  const auto often = maker.AddPath({{.thread = maker.AddPathThread(1, "often")}});
  const auto rare = maker.AddPath({{.thread = maker.AddPathThread(2, "rare")}});
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_LOCK, 996, 99, often));
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_LOCK, 4, 1, rare));
  const WaitGraph graph = WaitGraph::Of(WaitTable::Of(maker.Make()));
  EXPECT_EQ(graph.edges.size(), 1u);
  EXPECT_EQ(graph.left_out_ns, 4'000'000u);
}

// Threads a, b, ...; "ab" is a wait of a that b ends.
WaitTable Waits(const std::vector<std::string>& pairs) {
  ProfileMaker maker;
  std::map<char, std::uint32_t> threads;
  std::map<char, std::uint32_t> on_paths;
  for (const std::string& pair : pairs)
    for (const char c : pair) {
      if (threads.contains(c)) continue;
      const std::string name(1, c);
      const auto tid = static_cast<std::uint32_t>(5000 + c);
      threads[c] = maker.AddThread(tid, name);
      on_paths[c] = maker.AddPathThread(tid, name);
    }
  for (const std::string& pair : pairs)
    maker.Add(threads[pair[0]], {"f"},
              Blocked(v1::WAIT_LOCK, 100, 10, maker.AddPath({{.thread = on_paths[pair[1]]}})));
  return WaitTable::Of(maker.Make());
}

TEST(WaitGraph, GroupsThatWaitForEachOtherAreAKnot) {
  EXPECT_THAT(KnotsOf(Waits({"ab", "bc", "cd"})), IsEmpty());
  EXPECT_THAT(KnotsOf(Waits({"ab", "ba"})), ElementsAre(ElementsAre("a", "b")));
  EXPECT_THAT(KnotsOf(Waits({"ab", "bc", "ca", "cd", "de"})),
              ElementsAre(ElementsAre("a", "b", "c")));
  EXPECT_THAT(KnotsOf(Waits({"ab", "bc", "cb", "bd", "de", "ef", "fd", "fg"})),
              ::testing::UnorderedElementsAre(ElementsAre("b", "c"), ElementsAre("d", "e", "f")));
  EXPECT_THAT(KnotsOf(Waits({"ab", "bc", "cd", "db", "ca"})),
              ElementsAre(ElementsAre("a", "b", "c", "d")));
}

TEST(WaitGraph, AQueueOfAlikeThreadsIsNoKnot) { EXPECT_THAT(KnotsOf(Waits({"aa"})), IsEmpty()); }

}  // namespace
}  // namespace profd::client
