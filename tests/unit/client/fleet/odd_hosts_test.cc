#include "client/fleet/odd_hosts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/unit/client/fleet/row_writer.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kHostNs = 3'600'000'000'000;

// Hosts with `functions` alike functions on a CPU, whose shares vary by `variation` of themselves.
std::vector<HostFunction> Alike(std::size_t hosts, std::size_t functions, double variation,
                                std::mt19937_64& random) {
  std::vector<HostFunction> all;
  std::normal_distribution<double> factor(1, variation);
  for (std::size_t host = 0; host < hosts; ++host)
    for (std::size_t function = 0; function < functions; ++function) {
      const double share = std::max(0.0, factor(random)) / static_cast<double>(functions + 1);
      all.push_back({.host = "web-" + std::to_string(host),
                     .state = HostState::kOnCpu,
                     .function = "f" + std::to_string(function),
                     .ns = static_cast<std::uint64_t>(share * kHostNs),
                     .points = 5'000,
                     .host_ns = kHostNs});
    }
  return all;
}

TEST(OddHosts, EqualFleetsHaveNone) {
  std::mt19937_64 random(1);
  int named = 0;
  for (int round = 0; round < 200; ++round)
    named += FindOdd(Alike(30, 20, 0.1, random)).empty() ? 0 : 1;
  EXPECT_LT(named, 14);  // 5 in 100, and what chance does to 200
}

TEST(OddHosts, FewHostsHaveNoneEither) {
  std::mt19937_64 random(2);
  int named = 0;
  for (int round = 0; round < 200; ++round)
    named += FindOdd(Alike(5, 20, 0.1, random)).empty() ? 0 : 1;
  EXPECT_LT(named, 20);
}

TEST(OddHosts, TheOddOneIsNamedWithItsFunction) {
  std::mt19937_64 random(3);
  std::vector<HostFunction> all = Alike(30, 20, 0.05, random);
  for (HostFunction& function : all)
    if (function.host == "web-7" && function.function == "f3") function.ns += kHostNs / 5;
  const std::vector<OddShare> odd = FindOdd(all);
  ASSERT_FALSE(odd.empty());
  for (const OddShare& share : odd) EXPECT_EQ(share.host, "web-7") << share.function;
  bool function = false;
  for (const OddShare& share : odd) function = function || share.function == "f3";
  EXPECT_TRUE(function);
  EXPECT_NEAR(odd.front().share - odd.front().median, 0.2, 0.03);
}

TEST(OddHosts, FourHostsAreTooFew) {
  std::mt19937_64 random(4);
  std::vector<HostFunction> all = Alike(4, 3, 0.01, random);
  all.front().ns = kHostNs;
  EXPECT_TRUE(FindOdd(all).empty());
}

TEST(OddHosts, WhatFewSamplesSayIsNoFinding) {
  std::mt19937_64 random(5);
  std::vector<HostFunction> all = Alike(30, 20, 0.01, random);
  for (HostFunction& function : all) {
    function.points = 2;
    if (function.host == "web-7" && function.function == "f3") function.ns += kHostNs / 50;
  }
  EXPECT_TRUE(FindOdd(all).empty());
}

TEST(OddHosts, AnswersAreChecked) {
  testing::RowWriter row;
  row.Text("a").Byte(2).Text("f").Number(1).Number(2).Number(3);
  ASSERT_TRUE(ReadHostFunctions(row.bytes()));
  EXPECT_FALSE(ReadHostFunctions(row.bytes().substr(1)));
  testing::RowWriter wrong;
  wrong.Text("a").Byte(4).Text("f").Number(1).Number(2).Number(3);
  EXPECT_FALSE(ReadHostFunctions(wrong.bytes()));
}

}  // namespace
}  // namespace profd::client
