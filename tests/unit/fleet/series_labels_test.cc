#include "daemon/fleet/series/series_labels.h"

#include <gtest/gtest.h>

namespace profd::fleet {
namespace {

constexpr SeriesLimits kRoom{.labels = 100, .value_bytes = 1000};

TEST(SeriesLabelsTest, NamesAreThoseOfPrometheus) {
  EXPECT_EQ(SeriesLabelName("service.name"), "service_name");
  EXPECT_EQ(SeriesLabelName("process.executable.build_id.gnu"), "process_executable_build_id_gnu");
  EXPECT_EQ(SeriesLabelName("9lives"), "label_9lives");
  EXPECT_EQ(SeriesLabelName("..name.."), "label___name__");
  EXPECT_EQ(SeriesLabelName("\xc3\xa4"), "label___");
  EXPECT_EQ(SeriesLabelName(""), "label_");
  EXPECT_LE(SeriesLabelName(std::string(10'000, 'a')).size(), 256u);
}

TEST(SeriesLabelsTest, NamesThatBecomeEqualStayApart) {
  const Labels made = MakeSeriesLabels({{"a-b", "2"}, {"a.b", "1"}, {"a_b", "3"}}, kRoom);
  EXPECT_EQ(made, (Labels{{"a_b", "2"}, {"a_b_", "1"}, {"a_b__", "3"}}));
  EXPECT_EQ(MakeSeriesLabels({{"", "x"}, {"empty", ""}}, kRoom), (Labels{{"label_", "x"}}));
}

TEST(SeriesLabelsTest, WhatIsOfTheServiceStaysWhenThereAreTooMany) {
  Labels labels{{"service.name", "cart"}, {"service.version", "7"}};
  for (int i = 0; i < 50; ++i) labels["a" + std::to_string(i)] = "x";
  const Labels made = MakeSeriesLabels(labels, {.labels = 3, .value_bytes = 10});
  EXPECT_EQ(made, (Labels{{"a0", "x"}, {"service_name", "cart"}, {"service_version", "7"}}));
}

TEST(SeriesLabelsTest, ValuesAreCutBetweenCharacters) {
  const Labels made =
      MakeSeriesLabels({{"a", "ab\xc3\xa4"}, {"b", "abc"}}, {.labels = 9, .value_bytes = 3});
  EXPECT_EQ(made, (Labels{{"a", "ab"}, {"b", "abc"}}));
}

TEST(SeriesLabelsTest, SeriesAreOfServicesUnlessRulesSayMore) {
  const Labels labels{{"service.name", "cart"}, {"host.name", "web-1"}, {"team", "shop"}};
  EXPECT_EQ(SeriesChoice({}).Of(labels), (Labels{{"service.name", "cart"}}));
  EXPECT_EQ(SeriesChoice({{.target_label = "team"}}).Of(labels),
            (Labels{{"service.name", "cart"}, {"team", "shop"}}));
  EXPECT_EQ(SeriesChoice({{.action = RelabelAction::kLabelKeep, .regex = ".*"}}).Of(labels),
            labels);
  EXPECT_EQ(SeriesChoice({{.action = RelabelAction::kLabelDrop, .regex = "x"}}).Of(labels).size(),
            1u);
}

}  // namespace
}  // namespace profd::fleet
