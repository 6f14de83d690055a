#include "client/fleet/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/client/fleet/row_writer.h"

namespace profd::client {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kFrom = 10'000;
constexpr std::uint64_t kTo = kFrom + 3'600;

FleetQuestion Hour() {
  FleetQuestion question;
  question.from_s = kFrom;
  question.to_s = kTo;
  return question;
}

HostCoverage Whole(std::string host) {
  return {.host = std::move(host),
          .first_s = kFrom - 600,
          .last_s = kTo + 10,
          .covered_s = 3'600,
          .window_s = 60};
}

// Long after the hour: nothing may come any more.
constexpr std::uint64_t kLater = kTo + 10'000;

TEST(Coverage, OfHostsThatDeliverAllIsComplete) {
  const Coverage coverage = CoverageOf({Whole("a"), Whole("b")}, Hour(), kLater);
  EXPECT_TRUE(coverage.complete());
  EXPECT_EQ(coverage.hosts, 2U);
  EXPECT_EQ(coverage.from_s, kFrom);
  EXPECT_EQ(coverage.to_s, kTo);
  EXPECT_THAT(CoverageLines(coverage), IsEmpty());
}

TEST(Coverage, NamesHostsThatMissMinutes) {
  HostCoverage less = Whole("b");
  less.covered_s -= 300;
  HostCoverage gone = Whole("c");
  gone.last_s = kFrom - 60;
  gone.covered_s = 0;
  const Coverage coverage = CoverageOf({Whole("a"), less, gone}, Hour(), kLater);
  ASSERT_EQ(coverage.incomplete.size(), 2U);
  EXPECT_EQ(coverage.incomplete[0].host, "c");
  EXPECT_EQ(coverage.incomplete[0].missing_s, 3'600);
  EXPECT_EQ(coverage.incomplete[1].missing_s, 300);
  EXPECT_EQ(coverage.hosts, 2U);
  EXPECT_THAT(CoverageLines(coverage), ElementsAre(HasSubstr("2 hosts")));
  v1::Profile profile;
  AddCoverage(coverage, profile);
  EXPECT_EQ(profile.counters_size(), 4);  // hosts, each that misses something, and the line
}

TEST(Coverage, WhatMayStillComeIsNotMissing) {
  HostCoverage slow = Whole("b");
  slow.last_s = kTo - 180;
  slow.covered_s -= 180;
  const Coverage now = CoverageOf({Whole("a"), slow}, Hour(), kTo);
  EXPECT_TRUE(now.complete());
  ASSERT_EQ(now.late.size(), 1U);
  EXPECT_EQ(now.late[0].missing_s, 180);
  EXPECT_EQ(CoverageOf({Whole("a"), slow}, Hour(), kLater).incomplete.size(), 1U);
}

TEST(Coverage, NewHostsHaveNothingToDeliverOfTheTimeBefore) {
  HostCoverage young = Whole("b");
  young.first_s = kFrom + 1'800;
  young.covered_s = 1'800;
  EXPECT_TRUE(CoverageOf({Whole("a"), young}, Hour(), kLater).complete());
}

TEST(Coverage, GapsAndLossAreAddedUp) {
  HostCoverage a = Whole("a");
  a.gaps_ns = {{"restart", 60'000'000'000}};
  a.lost = {{"ring", 3}};
  HostCoverage b = a;
  b.host = "b";
  const Coverage coverage = CoverageOf({a, b}, Hour(), kLater);
  EXPECT_EQ(coverage.gaps_ns.at("restart"), 120'000'000'000U);
  EXPECT_EQ(coverage.lost.at("ring"), 6U);
  EXPECT_EQ(CoverageLines(coverage).size(), 2U);
}

TEST(Coverage, PartialWindowsAreNamed) {
  testing::RowWriter rows;
  for (const char* host : {"a", "b", "c", "d", "e", "f"})
    rows.Text(host).Number(2).Number(3'000'000'000);
  const auto partial = ReadPartial(rows.bytes());
  ASSERT_TRUE(partial);
  ASSERT_EQ(partial->size(), 6U);
  Coverage coverage = CoverageOf({Whole("a")}, Hour(), kLater);
  coverage.partial = *partial;
  EXPECT_FALSE(coverage.complete());
  EXPECT_THAT(CoverageLines(coverage),
              ElementsAre(AllOf(HasSubstr("partial: rows of 12 windows are not there: a ("),
                                HasSubstr(" and 1 more"))));
  v1::Profile profile;
  AddCoverage(coverage, profile);
  ASSERT_EQ(profile.counters_size(), 8);
  EXPECT_EQ(profile.counters(7).text(), CoverageLines(coverage)[0]);
  EXPECT_FALSE(ReadPartial(rows.bytes().substr(0, rows.bytes().size() - 1)));
}

TEST(Coverage, HostsAreReadFromAnAnswer) {
  testing::RowWriter row;
  row.Text("a").Real(1).Real(2).Real(3).Real(60).Length(1).Text("full").Number(5).Length(0);
  const auto hosts = ReadHosts(row.bytes());
  ASSERT_TRUE(hosts);
  EXPECT_EQ(hosts->front().gaps_ns.at("full"), 5U);
  EXPECT_FALSE(ReadHosts(row.bytes().substr(0, row.bytes().size() - 1)));
  EXPECT_FALSE(ReadHosts(testing::RowWriter().Text("a").Real(0.0 / 0.0).bytes()));
}

}  // namespace
}  // namespace profd::client
