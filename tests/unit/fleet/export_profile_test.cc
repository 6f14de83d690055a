#include "daemon/fleet/profile/export_profile.h"

#include <gtest/gtest.h>

#include <map>
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
