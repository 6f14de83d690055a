#include "daemon/wire/orderer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace profd::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

wire::Event At(std::uint64_t time_ns, std::string comm = "") {
  wire::CommEvent event;
  event.header.time_ns = time_ns;
  event.comm = std::move(comm);
  return event;
}

wire::Event SessionEndAt(std::uint64_t time_ns) {
  wire::SessionEvent event;
  event.header.time_ns = time_ns;
  event.end = true;
  return event;
}

class OrdererTest : public ::testing::Test {
 protected:
  wire::Orderer MakeOrderer(const wire::Orderer::Options& options) {
    return wire::Orderer(options, [this](wire::Event&& event) {
      times_.push_back(wire::HeaderOf(event).time_ns);
      if (const auto* comm = std::get_if<wire::CommEvent>(&event)) comms_.push_back(comm->comm);
    });
  }

  std::vector<std::uint64_t> times_;
  std::vector<std::string> comms_;
};

TEST_F(OrdererTest, HoldsAnEventUntilOneIsSeenThatIsNewerByTheDelay) {
  wire::Orderer orderer = MakeOrderer({.delay_ns = 100});
  orderer.Push(At(1'000));
  orderer.Push(At(1'099));
  EXPECT_THAT(times_, IsEmpty());
  orderer.Push(At(1'100));
  EXPECT_THAT(times_, ElementsAre(1'000));
  EXPECT_EQ(orderer.held(), 2u);
}

TEST_F(OrdererTest, OldestFirst) {
  wire::Orderer orderer = MakeOrderer({.delay_ns = 100});
  for (const std::uint64_t time : {1'050, 1'010, 1'040, 1'020, 1'030}) orderer.Push(At(time));
  orderer.Flush();
  EXPECT_THAT(times_, ElementsAre(1'010, 1'020, 1'030, 1'040, 1'050));
  EXPECT_EQ(orderer.Counters().ordered, 5u);
  EXPECT_EQ(orderer.Counters().late, 0u);
}

TEST_F(OrdererTest, WhatABurstHasTakenIsGivenBack) {
  wire::Orderer orderer = MakeOrderer({.delay_ns = 1'000'000'000});
  for (std::uint64_t time = 1; time <= 100'000; ++time) orderer.Push(At(time));
  EXPECT_GE(orderer.room(), 100'000u);
  orderer.Push(SessionEndAt(100'001));
  EXPECT_EQ(orderer.room(), 0u);
  orderer.Push(At(100'002));
  orderer.Flush();
  EXPECT_EQ(times_.size(), 100'002u);
}

TEST_F(OrdererTest, EqualTimesKeepTheOrderOfArrival) {
  wire::Orderer orderer = MakeOrderer({.delay_ns = 100});
  for (const char* comm : {"a", "b", "c", "d", "e", "f", "g"}) orderer.Push(At(7, comm));
  orderer.Flush();
  EXPECT_THAT(comms_, ElementsAre("a", "b", "c", "d", "e", "f", "g"));
}

TEST_F(OrdererTest, LateEventIsHandedOverAtOnceAndCounted) {
  wire::Orderer orderer = MakeOrderer({.delay_ns = 100});
  orderer.Push(At(1'000));
  orderer.Push(At(1'200));
  orderer.Push(At(999));
  EXPECT_THAT(times_, ElementsAre(1'000, 999));
  EXPECT_EQ(orderer.Counters().late, 1u);
  // An event as old as the newest delivered one is not late.
  orderer.Push(At(1'000));
  EXPECT_THAT(times_, ElementsAre(1'000, 999, 1'000));
  EXPECT_EQ(orderer.Counters().late, 1u);
}

TEST_F(OrdererTest, SessionEndComesAfterEverythingThatArrivedBeforeIt) {
  wire::Orderer orderer = MakeOrderer({.delay_ns = 100});
  orderer.Push(At(1'010));
  orderer.Push(At(1'005));
  orderer.Push(At(1'050));  // read after the session's end, as snapshots are
  orderer.Push(SessionEndAt(1'020));
  EXPECT_THAT(times_, ElementsAre(1'005, 1'010, 1'050, 1'020));
  EXPECT_EQ(orderer.held(), 0u);
}

TEST_F(OrdererTest, SessionEndLeavesTheHorizonAlone) {
  wire::Orderer orderer = MakeOrderer({.delay_ns = 100});
  orderer.Push(At(1'000));
  orderer.Push(SessionEndAt(5'000));
  orderer.Push(At(1'010));
  EXPECT_EQ(orderer.held(), 1u);
  EXPECT_EQ(orderer.Counters().late, 0u);
}

TEST_F(OrdererTest, SessionStartIsAnEventLikeOthers) {
  wire::Orderer orderer = MakeOrderer({.delay_ns = 100});
  orderer.Push(At(1'010));
  wire::SessionEvent start;
  start.header.time_ns = 1'005;
  orderer.Push(start);
  EXPECT_THAT(times_, IsEmpty());
  orderer.Flush();
  EXPECT_THAT(times_, ElementsAre(1'005, 1'010));
}

TEST_F(OrdererTest, AdvanceHandsOverWhatNoNewerEventFollows) {
  wire::Orderer orderer = MakeOrderer({.delay_ns = 100});
  orderer.Push(At(1'000));
  orderer.Advance(1'099);
  EXPECT_THAT(times_, IsEmpty());
  orderer.Advance(1'100);
  EXPECT_THAT(times_, ElementsAre(1'000));
  orderer.Advance(500);  // a clock that is behind changes nothing
  orderer.Push(At(1'000));
  EXPECT_THAT(times_, ElementsAre(1'000, 1'000));
}

TEST_F(OrdererTest, HoldsNoMoreThanItsBound) {
  wire::Orderer orderer = MakeOrderer({.delay_ns = 1'000'000, .max_held = 3});
  for (const std::uint64_t time : {50, 40, 30, 20, 10}) orderer.Push(At(time));
  EXPECT_EQ(orderer.held(), 3u);
  EXPECT_EQ(orderer.Counters().crowded, 1u);
  EXPECT_EQ(orderer.Counters().late, 1u);  // 10 came after 20 had to go
  orderer.Flush();
  EXPECT_THAT(times_, ElementsAre(20, 10, 30, 40, 50));
}

TEST_F(OrdererTest, TimesAtBothEndsOfTheRange) {
  constexpr std::uint64_t kLast = ~std::uint64_t{0};
  wire::Orderer orderer = MakeOrderer({.delay_ns = 100});
  orderer.Push(At(kLast));
  orderer.Push(At(0));
  orderer.Push(At(kLast));
  orderer.Flush();
  EXPECT_THAT(times_, ElementsAre(0, kLast, kLast));
}

// Any disorder smaller than the delay is undone, whatever it is.
TEST_F(OrdererTest, RandomDisorderWithinTheDelayIsUndone) {
  std::mt19937_64 random(20'240'607);
  for (int round = 0; round < 20; ++round) {
    times_.clear();
    wire::Orderer orderer = MakeOrderer({.delay_ns = 1'000});
    // Sorting by time + jitter < delay gives an order of arrival in which no event comes after one
    // that is newer by the delay or more.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> arrivals;
    for (int i = 0; i < 2'000; ++i) {
      const std::uint64_t time = random() % 50'000;
      arrivals.emplace_back(time + random() % 1'000, time);
    }
    std::ranges::sort(arrivals);
    for (const auto& [arrival, time] : arrivals) orderer.Push(At(time));
    orderer.Flush();
    EXPECT_EQ(times_.size(), arrivals.size());
    EXPECT_TRUE(std::ranges::is_sorted(times_));
    EXPECT_EQ(orderer.Counters().late, 0u);
  }
}

}  // namespace
}  // namespace profd::wire
