#include "client/commands/top.h"

#include <gtest/gtest.h>

#include "tests/unit/client/commands/parsed.h"

namespace profd::client {
namespace {

TEST(TopVerbTest, TopLooksAtTheWholeHostEveryTwoSeconds) {
  const auto options = OptionsOf<TopVerb>({"top"});
  EXPECT_TRUE(options.target.all());
  EXPECT_EQ(options.interval_ns, 2'000'000'000u);
  EXPECT_EQ(options.state.view, TopView::kProcesses);
  EXPECT_EQ(options.count, 0u);
  EXPECT_FALSE(options.plain);
}

TEST(TopVerbTest, TopTakesATargetAViewAndHowOften) {
  const auto options =
      OptionsOf<TopVerb>({"top", "-p", "12", "-i", "500ms", "-n", "3", "--functions", "--sort",
                          "self", "--filter", "x", "-F", "19", "-m", "on"});
  EXPECT_EQ(options.target.pids().id(0), 12u);
  EXPECT_EQ(options.interval_ns, 500'000'000u);
  EXPECT_EQ(options.count, 3u);
  EXPECT_TRUE(options.plain);
  EXPECT_EQ(options.state.view, TopView::kFunctions);
  EXPECT_EQ(options.state.sort, TopSort::kSelf);
  EXPECT_EQ(options.state.filter, "x");
  EXPECT_EQ(options.sampling.frequency_hz, 19u);
  EXPECT_EQ(options.sampling.mode, v1::MODE_ON_CPU);
}

TEST(TopVerbTest, TopTakesAServiceHereAndOfAFleet) {
  const auto here = OptionsOf<TopVerb>({"top", "--service", "cart", "--label", "a=b"});
  ASSERT_EQ(here.target.labels().label_size(), 2);
  EXPECT_EQ(here.target.labels().label(0), "service.name=cart");
  EXPECT_EQ(here.target.labels().label(1), "a=b");
  const auto fleet = OptionsOf<TopVerb>(
      {"top", "--fleet", "clickhouse://x/y", "--service", "cart", "--label", "a=b"});
  ASSERT_TRUE(fleet.fleet.has_value());
  EXPECT_EQ(fleet.fleet->question.service, "cart");
  EXPECT_EQ(fleet.fleet->question.labels.at("a"), std::vector<std::string>{"b"});
  EXPECT_EQ(Refused({"top", "--version", "1"}).message, "--version is for fleets");
}

TEST(TopVerbTest, TopRefusesWhatCannotBe) {
  EXPECT_EQ(Refused({"top", "--sort", "self"}).hint,
            "it is one of running, spinning, runnable, blocked, name");
  EXPECT_EQ(Refused({"top", "-n", "0"}).message, "-n 0 is no number of tables");
  EXPECT_EQ(Refused({"top", "-i", "1ms"}).message,
            "--interval 1ms: the duration must be between 100ms and 24h");
  EXPECT_NE(Refused({"top", "--threads", "--functions"}).message, "");
  EXPECT_NE(Refused({"top", "-a", "-p", "1"}).message, "");
}

}  // namespace
}  // namespace profd::client
