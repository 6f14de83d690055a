#include "daemon/fleet/profile/export_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "tests/unit/store/window_maker.h"

namespace profd::fleet {
namespace {

using aggregate::Profile;

const Relabelling kAll = *Relabelling::Make({});

// Some of its threads have stolen time.
Profile Window() { return store::MakeWindow(0); }

std::uint64_t ClockSum(const Profile& profile) {
  std::uint64_t sum = 0;
  for (const auto& thread : profile.threads) sum += aggregate::ClockTotal(thread.clock);
  return sum;
}

std::map<Part, std::uint64_t> ByPart(const ExportProfile& profile) {
  std::map<Part, std::uint64_t> sums;
  for (const ExportRow& row : profile.rows) sums[row.part] += row.ns;
  return sums;
}

rules::RuleSetRef SpinIn(const std::string& function) {
  auto parsed = rules::ParseRules(
      "version = 1\n[[rule]]\nclass = \"spin\"\nfunction = '" + function + "'\n", "test");
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return *rules::RuleSet::Make(*std::move(parsed));
}

TEST(ExportProfileTest, AllPartsAddUpToTheClocks) {
  const Profile window = Window();
  const auto made = MakeExportProfile(window, What::kWall, kAll, nullptr);
  EXPECT_EQ(TotalNs(made), ClockSum(window));
  std::map<Part, std::uint64_t> expected;
  for (const auto& thread : window.threads) {
    expected[Part::kRunning] += thread.clock.on_cpu_ns;
    expected[Part::kRunnable] += aggregate::StateClock(thread.clock, process::State::kRunnable);
    expected[Part::kBlocked] += aggregate::StateClock(thread.clock, process::State::kBlocked);
    expected[Part::kStolen] += aggregate::StolenClock(thread.clock);
  }
  EXPECT_GT(expected[Part::kStolen], 0u);
  EXPECT_EQ(ByPart(made), expected);
  EXPECT_EQ(made.host, "testhost");
  EXPECT_EQ(made.duration_ns, 10 * store::kSecond);
  EXPECT_EQ(made.start_unix_ns, store::kStartUnixNs);
  ASSERT_EQ(made.lost.size(), 1u);
  EXPECT_EQ(made.lost[0].name, "ring_full");
}

TEST(ExportProfileTest, RowsAreSummedAndOrdered) {
  const Profile window = Window();
  const auto made = MakeExportProfile(window, What::kWall, kAll, nullptr);
  const auto key = [](const ExportRow& row) {
    return std::tuple(row.labels, row.part, row.wait, row.thread, row.node);
  };
  for (std::size_t i = 1; i < made.rows.size(); ++i)
    EXPECT_LT(key(made.rows[i - 1]), key(made.rows[i]));
  std::uint64_t points = 0;
  for (const auto& sample : window.samples) points += sample.count;
  std::uint64_t counted = 0;
  for (const ExportRow& row : made.rows) counted += row.count;
  EXPECT_EQ(counted, points);
}

TEST(ExportProfileTest, OnCpuIsRunningAndSpinningAlone) {
  const Profile window = Window();
  const auto made = MakeExportProfile(window, What::kOnCpu, kAll, nullptr);
  std::uint64_t expected = 0;
  for (const auto& thread : window.threads) expected += thread.clock.on_cpu_ns;
  EXPECT_TRUE(made.on_cpu_only);
  EXPECT_EQ(TotalNs(made), expected);
}

TEST(ExportProfileTest, RulesSplitTimeOnACpu) {
  const Profile window = Window();
  const auto whole = ByPart(MakeExportProfile(window, What::kWall, kAll, nullptr));
  const auto spins = SpinIn(".*");
  const auto split = ByPart(MakeExportProfile(window, What::kWall, kAll, spins.get()));
  EXPECT_GT(split.at(Part::kSpinning), 0u);
  EXPECT_EQ(
      (split.contains(Part::kRunning) ? split.at(Part::kRunning) : 0) + split.at(Part::kSpinning),
      whole.at(Part::kRunning));
  EXPECT_EQ(split.at(Part::kBlocked), whole.at(Part::kBlocked));
}

TEST(ExportProfileTest, WhatRulesDropIsMissingAndNothingElse) {
  const Profile window = Window();
  const auto rules = Relabelling::Make(
      {{.action = RelabelAction::kKeep, .source_labels = {"service.name"}, .regex = "service-1"}});
  const auto made = MakeExportProfile(window, What::kWall, *rules, nullptr);
  std::uint64_t expected = 0;
  for (const auto& thread : window.threads)
    if (window.processes[thread.process].comm == "service-1")
      expected += aggregate::ClockTotal(thread.clock);
  EXPECT_GT(expected, 0u);
  EXPECT_EQ(TotalNs(made), expected);
  ASSERT_EQ(made.label_sets.size(), 1u);
  EXPECT_EQ(made.label_sets[0].at("service.name"), "service-1");
}

constexpr store::HostShape kWakers{.wakers = true};

// Of a path of the window: "worker-1 (service-2) < [timer]".
std::string PathText(const Profile& window, std::uint32_t path) {
  std::string text;
  for (; path != 0; path = window.paths[path].parent) {
    const auto& step = window.paths[path];
    std::string one = "[" + std::to_string(static_cast<int>(step.kind)) + "]";
    if (step.thread != 0) one += window.path_threads[step.thread - 1].comm;
    text.insert(0, one + " < ");
  }
  return text;
}

std::string PathText(const ExportProfile& profile, std::uint32_t path) {
  std::string text;
  if (path != 0)
    for (const ExportStep& step : profile.paths[path - 1])
      text += "[" + std::to_string(static_cast<int>(step.kind)) + "]" +
              (step.thread == 0 ? "" : profile.threads[step.thread - 1]) + " < ";
  return text;
}

TEST(ExportProfileTest, PathsAreThoseOfTheWindow) {
  const Profile window = store::MakeWindow(0, kWakers);
  const auto made = MakeExportProfile(window, What::kWall, kAll, nullptr, Paths::kKept);
  std::map<std::string, std::uint64_t> expected;
  for (const auto& sample : window.samples)
    if (sample.state == process::State::kBlocked)
      expected[PathText(window, sample.path)] += sample.weight_ns;
  std::map<std::string, std::uint64_t> sums;
  for (const ExportRow& row : made.rows) {
    if (row.part == Part::kBlocked) sums[PathText(made, row.path)] += row.ns;
    EXPECT_TRUE(row.part == Part::kBlocked || row.path == 0);
  }
  EXPECT_EQ(sums, expected);
  EXPECT_GT(sums.size(), 10u);
  bool own = false;
  bool other = false;
  for (const ExportPath& path : made.paths)
    for (const ExportStep& step : path) {
      own = own || step.own;
      other = other || (step.thread != 0 && !step.own);
      EXPECT_TRUE(!step.own || !step.service.empty());
    }
  EXPECT_TRUE(own && other);
}

TEST(ExportProfileTest, WhatRulesDropIsOnNoPath) {
  const Profile window = store::MakeWindow(0, kWakers);
  const auto rules = Relabelling::Make(
      {{.action = RelabelAction::kKeep, .source_labels = {"service.name"}, .regex = "service-1"}});
  const auto made = MakeExportProfile(window, What::kWall, *rules, nullptr, Paths::kKept);
  std::set<std::string> kept;
  for (const auto& thread : window.threads)
    if (window.processes[thread.process].comm == "service-1") kept.insert(thread.comm);
  std::size_t hidden = 0;
  for (const ExportPath& path : made.paths)
    for (std::size_t i = 0; i < path.size(); ++i) {
      const ExportStep& step = path[i];
      if (step.thread != 0) {
        EXPECT_TRUE(kept.contains(made.threads[step.thread - 1]));
        EXPECT_EQ(step.service, "service-1");
      }
      if (step.kind != aggregate::PathKind::kOtherUser) continue;
      ++hidden;
      EXPECT_EQ(i + 1, path.size()) << "nothing is known of what comes behind it";
      EXPECT_EQ(step, (ExportStep{.kind = aggregate::PathKind::kOtherUser}));
    }
  EXPECT_GT(hidden, 0u);
  // "gone too", of which the window has only a name, is none that the rule keeps.
  EXPECT_EQ(std::ranges::count(made.threads, "gone"), 0);
  const auto all = MakeExportProfile(window, What::kWall, kAll, nullptr, Paths::kKept);
  EXPECT_EQ(std::ranges::count(all.threads, "gone"), 1);
}

TEST(ExportProfileTest, ProcessesWithTheSameLabelsAreOne) {
  const auto rules =
      Relabelling::Make({{.action = RelabelAction::kLabelKeep, .regex = "host.name"}});
  const auto made = MakeExportProfile(Window(), What::kWall, *rules, nullptr);
  ASSERT_EQ(made.label_sets.size(), 1u);
  EXPECT_EQ(made.label_sets[0], (Labels{{"host.name", "testhost"}}));
  EXPECT_EQ(TotalNs(made), ClockSum(Window()));
}

}  // namespace
}  // namespace profd::fleet
