#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/format/written.h"

namespace profd::client {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ProfileMaker;

const Exporter kChrome = **ExporterByName("chrome");

v1::Profile WithTimes(v1::Profile profile) {
  profile.mutable_samples()->clear_edges();
  for (int i = 0; i < profile.samples().weight_ns_size(); ++i)
    profile.mutable_samples()->add_edges(0);
  return profile;
}

json Parsed(const v1::Profile& profile) { return json::parse(Written(kChrome, profile)); }

using Row = std::pair<std::uint64_t, std::uint64_t>;  // pid, tid

Row RowOf(const json& event) { return {event["pid"], event["tid"]}; }

std::map<Row, std::string> RowNames(const json& file) {
  std::map<Row, std::string> names;
  for (const json& event : file["traceEvents"])
    if (event["name"] == "thread_name") {
      EXPECT_TRUE(names.emplace(RowOf(event), event["args"]["name"]).second);
    }
  return names;
}

std::uint64_t Ns(const json& us) {
  return static_cast<std::uint64_t>(std::llround(us.get<double>() * 1000));
}

// What viewers need: slices of a row by begin, each inside of those that are open.
void ExpectNested(const json& file) {
  std::map<Row, std::vector<std::uint64_t>> open;  // ends
  std::map<Row, std::uint64_t> last;
  const auto names = RowNames(file);
  for (const json& event : file["traceEvents"]) {
    if (event["ph"] != "X") continue;
    EXPECT_TRUE(names.contains(RowOf(event)));
    const std::uint64_t begin = Ns(event["ts"]);
    const std::uint64_t end = begin + Ns(event["dur"]);
    EXPECT_LT(begin, end);
    auto& ends = open[RowOf(event)];
    EXPECT_GE(begin, last[RowOf(event)]);
    last[RowOf(event)] = begin;
    while (!ends.empty() && ends.back() <= begin) ends.pop_back();
    if (!ends.empty()) {
      EXPECT_LE(end, ends.back());
    }
    ends.push_back(end);
  }
}

// "name: states" -> state -> ns.
std::map<std::string, std::map<std::string, std::uint64_t>> States(const json& file) {
  std::map<std::string, std::map<std::string, std::uint64_t>> sums;
  const auto names = RowNames(file);
  for (const json& event : file["traceEvents"])
    if (event["ph"] == "X" && names.at(RowOf(event)).ends_with(": states"))
      sums[names.at(RowOf(event))][event["name"]] += Ns(event["dur"]);
  return sums;
}

TEST(Chrome, MatchesItsGolden) {
  ExpectGolden(Written(kChrome, WithTimes(testing::SmallProfile())), "small.trace.json");
}

TEST(Chrome, StatesAddUpToTheClocks) {
  const json file = Parsed(WithTimes(testing::SmallProfile()));
  ExpectNested(file);
  const auto states = States(file);
  EXPECT_EQ(
      states.at("demo (4242): states"),
      (std::map<std::string, std::uint64_t>{
          {"working", 1'680'000'000}, {"runnable", 20'000'000}, {"blocked:lock", 300'000'000}}));
  EXPECT_EQ(states.at("worker (4243): states"),
            (std::map<std::string, std::uint64_t>{{"blocked:sleep", 1'200'000'000},
                                                  {"blocked:io", 800'000'000}}));
  EXPECT_THAT(file["otherData"]["times"], HasSubstr("places are sampled"));
  EXPECT_THAT(Parsed(testing::SmallProfile())["otherData"]["times"], HasSubstr("not known"));
}

TEST(Chrome, FramesThatGoOnAreOneSlice) {
  const json file = Parsed(WithTimes(testing::SmallProfile()));
  std::vector<std::string> stacks;
  for (const json& event : file["traceEvents"])
    if (event["ph"] == "X" && RowOf(event) == Row(4242, 4242)) stacks.push_back(event["name"]);
  EXPECT_THAT(stacks, ElementsAre("_start", "main", "compute", "[runnable]", "wait",
                                  "futex_wait_[k]", "[blocked:lock]", "compute"));
}

TEST(Chrome, ArrowsGoFromWhoEndedTheWait) {
  const json file = Parsed(WithTimes(testing::EndedWaitsProfile()));
  ExpectNested(file);
  const auto names = RowNames(file);
  std::vector<std::string> ends;
  for (const json& event : file["traceEvents"])
    if (event["ph"] == "s" || event["ph"] == "f")
      ends.push_back(event["ph"].get<std::string>() + std::to_string(event["id"].get<int>()) + " " +
                     names.at(RowOf(event)) + " " + std::to_string(Ns(event["ts"])));
  EXPECT_THAT(ends,
              ElementsAre("s1 worker (2): states 119999999", "f1 waiter (1): states 119999999"));
}

TEST(Chrome, SwitchesHaveARowOfExactStates) {
  const json file = Parsed(WithTimes(testing::SwitchesProfile()));
  ExpectNested(file);
  const auto names = RowNames(file);
  std::map<std::string, std::vector<std::string>> rows;
  std::vector<std::string> arrows;
  for (const json& event : file["traceEvents"]) {
    const std::string phase = event["ph"];
    if (phase == "X" && names.at(RowOf(event)).ends_with(": switches"))
      rows[names.at(RowOf(event))].push_back(event["name"].get<std::string>() + " " +
                                             std::to_string(Ns(event["dur"]) / 1'000'000));
    if (phase == "s" || phase == "f")
      arrows.push_back(phase + " " + names.at(RowOf(event)) + " " +
                       std::to_string(Ns(event["ts"]) / 1'000'000));
  }
  EXPECT_THAT(rows.at("giver (1): switches"),
              ElementsAre("running 20", "runnable, preempted 10", "running, CPU 3 60",
                          "runnable, yielded 5", "running, CPU 3 5"));
  EXPECT_THAT(rows.at("taker (2): switches"),
              ElementsAre("running 10", "blocked, sleep 40", "runnable 10", "running, CPU 3 10",
                          "blocked, io 30"));
  EXPECT_THAT(arrows, ElementsAre("s giver (1): switches 49", "f taker (2): switches 49"));
  v1::Profile some = testing::SwitchesProfile();
  some.mutable_switches()->add_incomplete(1);
  for (const auto& [row, name] : RowNames(Parsed(WithTimes(some))))
    EXPECT_NE(name, "taker (2): switches") << "some of its switches are missing";
}

TEST(Chrome, StatesSayOnWhomTheyWait) {
  const json file = Parsed(WithTimes(testing::WaitingProfile()));
  std::set<std::string> details;
  for (const json& event : file["traceEvents"])
    if (event["ph"] == "X" && event.contains("args"))
      details.insert(event["args"].value("waits for", ""));
  EXPECT_TRUE(details.contains("engine-worker < the disk"));
  EXPECT_TRUE(details.contains("a timer"));
}

TEST(Chrome, StatesHaveTheLabelsOfTheThread) {
  const json file = Parsed(WithTimes(testing::LabelledProfile()));
  std::set<std::string> labels;
  for (const json& event : file["traceEvents"])
    if (event["ph"] == "X" && event.contains("args"))
      labels.insert(event["args"].value("labels", ""));
  EXPECT_TRUE(labels.contains("step=1"));
}

TEST(Chrome, OperatorsAndPhasesHaveARow) {
  const json file = Parsed(WithTimes(testing::OperatorProfile()));
  const auto names = RowNames(file);
  std::map<std::string, std::uint64_t> sums;
  for (const json& event : file["traceEvents"])
    if (event["ph"] == "X" && names.at(RowOf(event)) == "train (1): operators")
      sums[event["name"]] += Ns(event["dur"]) / 1'000'000;
  EXPECT_EQ(sums, (std::map<std::string, std::uint64_t>{{"aten::linear", 70}, {"forward", 70}}));
}

TEST(Chrome, TheCounterIsTheTimeOnCpus) {
  const json file = Parsed(WithTimes(testing::PoolProfile()));
  double on_cpu_s = 0;
  double before = 0;
  double value = 0;
  for (const json& event : file["traceEvents"]) {
    if (event["ph"] != "C" || event["pid"] != 4242) continue;
    on_cpu_s += value * (event["ts"].get<double>() / 1e6 - before);
    before = event["ts"].get<double>() / 1e6;
    value = event["args"]["threads"];
  }
  // 4 + 3 x (1 + 1) s; each of 100 values is rounded by up to 0.0005.
  EXPECT_NEAR(on_cpu_s, 10, 0.0005 * 10 + 1e-9);
}

TEST(Chrome, GroupsAndReusedNumbersAreRowsOfTheirOwn) {
  ProfileMaker maker;
  const auto again = maker.AddProcess(4242, "again");
  maker.Add(maker.AddThread(4242, "demo"), {"f"});
  maker.Add(maker.AddThread(4242, "again", again), {"f"});
  const auto group = maker.AddThread(0, "sh", again);
  for (int i = 0; i < 4; ++i) maker.Add(group, {"f"}, testing::Running(10));
  v1::Profile profile = WithTimes(maker.Make());
  v1::Thread& of = *profile.mutable_threads(2);
  of.set_group_size(3);
  of.set_end_ns(of.begin_ns() + 20'000'000);
  for (int i = 2; i < 6; ++i) profile.mutable_samples()->set_time_ns(i, of.begin_ns());
  const json file = Parsed(profile);
  ExpectNested(file);
  std::multiset<std::string> names;
  for (const auto& [row, name] : RowNames(file)) names.insert(name);
  EXPECT_EQ(names.size(), 10u);  // stacks and states of five tracks
  EXPECT_EQ(names.count("sh x 3, 2: states"), 1u);
}

TEST(Chrome, LargeHostileOrEmptyProfilesAreNested) {
  for (const v1::Profile& profile :
       {testing::LargeProfile(3000), testing::ManyThreadsProfile(30), testing::HostileProfile(),
        testing::EmptyProfile(), testing::TypicalProfile()}) {
    ExpectNested(Parsed(profile));
    ExpectNested(Parsed(WithTimes(profile)));
  }
}

}  // namespace
}  // namespace profd::client
