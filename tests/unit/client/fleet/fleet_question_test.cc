#include "client/fleet/fleet_question.h"

#include <gtest/gtest.h>

namespace profd::client {
namespace {

FleetQuestion Of(std::string service) {
  FleetQuestion question;
  question.service = std::move(service);
  question.from_s = 100;
  question.to_s = 200;
  return question;
}

TEST(FleetQuestion, WhatAUserWroteIsNoPartOfTheStatement) {
  const std::string hostile = "x' OR 1=1 --\\";
  FleetQuestion question = Of(hostile);
  question.fits[FleetKey::kHost] = {hostile + "*"};
  question.fits[FleetKey::kVersion] = {hostile, "1.%"};
  question.threads = {hostile};
  question.labels = {{hostile, {hostile}}};
  question.state = hostile;
  question.wait = hostile;
  const FleetCondition condition = ConditionOf(question, FleetTable::kSample);
  EXPECT_EQ(condition.sql.find("OR 1=1"), std::string::npos) << condition.sql;
  EXPECT_EQ(condition.sql.find('%'), std::string::npos) << condition.sql;
  EXPECT_EQ(condition.parameters.size(), 11U);  // two times and nine texts
  for (const auto& [name, value] : condition.parameters)
    EXPECT_TRUE(name.starts_with("param_p")) << name;
}

TEST(FleetQuestion, GlobsArePatternsAndOtherNamesAreNot) {
  EXPECT_EQ(LikePattern("web-*"), "web-%");
  EXPECT_EQ(LikePattern("a?_%\\"), "a_\\_\\%\\\\");
  FleetQuestion question = Of("cart");
  question.fits[FleetKey::kHost] = {"web-1", "db-*"};
  const FleetCondition condition = ConditionOf(question, FleetTable::kClock);
  EXPECT_NE(condition.sql.find("(host = {p3:String} OR host LIKE {p4:String})"), std::string::npos)
      << condition.sql;
}

TEST(FleetQuestion, ValuesAreEscapedAsServersReadThem) {
  EXPECT_EQ(ParameterText("a\\b\tc\nd"), "a\\\\b\\tc\\nd");
}

TEST(FleetQuestion, ClocksAnswerWhatTheyHaveColumnsFor) {
  FleetQuestion question = Of("cart");
  question.fits[FleetKey::kUnit] = {};
  question.apart = {FleetKey::kHost};
  EXPECT_TRUE(FitsClock(question));
  question.apart = {FleetKey::kUnit};
  EXPECT_FALSE(FitsClock(question));
  question.apart = {};
  question.labels = {{"team", {"shop"}}};
  EXPECT_FALSE(FitsClock(question));
}

}  // namespace
}  // namespace profd::client
