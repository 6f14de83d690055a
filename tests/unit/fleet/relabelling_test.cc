#include "daemon/fleet/profile/relabelling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profd::fleet {
namespace {

using ::testing::HasSubstr;

const Labels kCart{{"service.name", "cart"},
                   {"host.name", "web-1"},
                   {"container.id", "0123abcd"},
                   {"__process.pid", "17"}};

std::optional<Labels> Applied(std::vector<RelabelRule> rules, const Labels& labels = kCart) {
  const auto made = Relabelling::Make(std::move(rules));
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made ? made->Apply(labels) : std::nullopt;
}

std::string Problem(RelabelRule rule) {
  const auto made = Relabelling::Make({std::move(rule)});
  return made ? "none" : made.error().message;
}

TEST(RelabellingTest, WithoutRulesEverythingLeavesButWhatIsForRules) {
  EXPECT_EQ(
      Applied({}),
      (Labels{{"service.name", "cart"}, {"host.name", "web-1"}, {"container.id", "0123abcd"}}));
}

TEST(RelabellingTest, KeepAndDropMatchTheWholeText) {
  const auto kept = [](RelabelAction action, const std::string& regex) {
    return Applied({{.action = action, .source_labels = {"service.name"}, .regex = regex}})
        .has_value();
  };
  EXPECT_TRUE(kept(RelabelAction::kKeep, "cart"));
  EXPECT_TRUE(kept(RelabelAction::kKeep, "checkout|cart"));
  EXPECT_FALSE(kept(RelabelAction::kKeep, "car"));
  EXPECT_FALSE(kept(RelabelAction::kKeep, "art"));
  EXPECT_FALSE(kept(RelabelAction::kDrop, "c.*"));
  EXPECT_TRUE(kept(RelabelAction::kDrop, "ca"));
}

TEST(RelabellingTest, SourcesAreJoinedAndMissingOnesEmpty) {
  const auto joined = [](const std::string& separator) {
    return *Applied({{.source_labels = {"service.name", "missing", "host.name"},
                      .separator = separator,
                      .target_label = "joined"}});
  };
  EXPECT_EQ(joined(";").at("joined"), "cart;;web-1");
  EXPECT_EQ(joined("").at("joined"), "cartweb-1");
}

// As deploy/fleet/receivers.md has it for the zone of a host.
TEST(RelabellingTest, WithoutSourcesALabelIsSetForAllProcesses) {
  const RelabelRule rule{.target_label = "cloud.availability_zone", .replacement = "eu-1a"};
  EXPECT_EQ(Applied({rule})->at("cloud.availability_zone"), "eu-1a");
  EXPECT_EQ(Applied({rule}, {{"cloud.availability_zone", "x"}}),
            (Labels{{"cloud.availability_zone", "eu-1a"}}));
}

TEST(RelabellingTest, ReplaceExpandsGroupsByNumberAndName) {
  const auto replaced = [](const std::string& replacement) {
    return Applied({{.source_labels = {"host.name"},
                     .regex = "(?P<role>[a-z]+)-([0-9]+)",
                     .target_label = "x",
                     .replacement = replacement}})
        ->at("x");
  };
  EXPECT_EQ(replaced("$1"), "web");
  EXPECT_EQ(replaced("${2}0"), "10");
  EXPECT_EQ(replaced("${role}:$2"), "web:1");
  EXPECT_EQ(replaced("$role"), "web");
  EXPECT_EQ(replaced("a$$b"), "a$b");
  EXPECT_EQ(replaced("a${"), "a${");
  EXPECT_EQ(replaced("a$9$nope.$"), "a.$");
}

TEST(RelabellingTest, ReplaceMayExpandTheTargetAndRemovesWithAnEmptyValue) {
  EXPECT_EQ(Applied({{.source_labels = {"host.name"},
                      .regex = "([a-z]+)-(.*)",
                      .target_label = "$1",
                      .replacement = "$2"}})
                ->at("web"),
            "1");
  const auto removed = Applied({{.target_label = "container.id", .replacement = ""}});
  EXPECT_FALSE(removed->contains("container.id"));
  // Without a match nothing changes.
  EXPECT_EQ(Applied({{.source_labels = {"host.name"}, .regex = "db", .target_label = "host.name"}})
                ->at("host.name"),
            "web-1");
}

TEST(RelabellingTest, WhatIsForRulesLeavesOnlyByARule) {
  const auto labels =
      Applied({{.source_labels = {"__process.pid"}, .target_label = "process.pid"}});
  EXPECT_EQ(labels->at("process.pid"), "17");
  EXPECT_FALSE(labels->contains("__process.pid"));
}

TEST(RelabellingTest, LabelMapRenamesAndKeepsTheOldName) {
  const auto labels = Applied(
      {{.action = RelabelAction::kLabelMap, .regex = "(.*)\\.(.*)", .replacement = "${1}_$2"}});
  EXPECT_EQ(labels->at("service_name"), "cart");
  EXPECT_EQ(labels->at("service.name"), "cart");
  // Also of what is for rules: it is renamed to something that leaves.
  const auto pid = Applied(
      {{.action = RelabelAction::kLabelMap, .regex = "__process\\.(pid)", .replacement = "$1"}});
  EXPECT_EQ(pid->at("pid"), "17");
}

TEST(RelabellingTest, LabelDropAndLabelKeepLookAtNames) {
  EXPECT_EQ(Applied({{.action = RelabelAction::kLabelDrop, .regex = ".*\\.name"}}),
            (Labels{{"container.id", "0123abcd"}}));
  const auto kept = Applied({{.action = RelabelAction::kLabelKeep, .regex = "host.*"},
                             {.source_labels = {"__process.pid"}, .target_label = "p"}});
  EXPECT_EQ(kept, (Labels{{"host.name", "web-1"}, {"p", "17"}}));
}

TEST(RelabellingTest, RulesApplyInTheirOrder) {
  const RelabelRule rename{
      .source_labels = {"service.name"}, .target_label = "service.name", .replacement = "shop-$1"};
  const RelabelRule keep{
      .action = RelabelAction::kKeep, .source_labels = {"service.name"}, .regex = "shop-cart"};
  EXPECT_TRUE(Applied({rename, keep}));
  EXPECT_FALSE(Applied({keep, rename}));
}

TEST(RelabellingTest, WhatARuleMakesIsBounded) {
  Labels labels;
  labels["long"] = std::string(5000, 'x');
  const auto made =
      Applied({{.source_labels = {"long"}, .target_label = "y", .replacement = "$1$1$1"}}, labels);
  EXPECT_EQ(made->at("y").size(), 4096u);
}

TEST(RelabellingTest, WrongRulesSayWhatIsMissing) {
  EXPECT_THAT(Problem({.source_labels = {"a"}}), HasSubstr("needs a target_label"));
  EXPECT_THAT(Problem({.action = RelabelAction::kKeep}), HasSubstr("need source_labels"));
  EXPECT_THAT(Problem({.action = RelabelAction::kDrop, .source_labels = {"a"}, .regex = "("}),
              HasSubstr("regex '(' is wrong"));
  EXPECT_THAT(Problem({.action = RelabelAction::kLabelMap, .source_labels = {"a"}}),
              HasSubstr("take no source_labels"));
}

TEST(RelabellingTest, EveryActionHasItsName) {
  for (const char* name : {"replace", "keep", "drop", "labelmap", "labeldrop", "labelkeep"})
    EXPECT_EQ(NameOf(*ActionNamed(name)), name);
  EXPECT_FALSE(ActionNamed("hashmod"));
}

}  // namespace
}  // namespace profd::fleet
