#include "daemon/aggregate/concurrency/concurrency_count.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "bpf/shared/points.h"

namespace profd::aggregate {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kSeed = 4711;
constexpr std::uint32_t kLevel = 20;  // a point in 1.05 ms
constexpr std::uint64_t kEnd = 1'000 * kMs;
constexpr ProcessKey kProcess{10, 1};
constexpr ThreadKey kFirst{10, 1};
constexpr ThreadKey kSecond{11, 1};

std::uint64_t PointsIn(std::uint64_t begin_ns, std::uint64_t end_ns) {
  return profd_points_in(kSeed, kLevel, begin_ns, end_ns);
}

process::Sample Wait(const ThreadKey& thread, std::uint32_t number, std::uint64_t begin_ns,
                     std::uint64_t end_ns, std::uint64_t runnable_ns = 0) {
  process::Sample sample;
  sample.thread = thread;
  sample.process = kProcess;
  sample.state = process::State::kBlocked;
  sample.number = number;
  sample.begin_ns = begin_ns;
  sample.time_ns = end_ns;
  sample.runnable_ns = runnable_ns;
  return sample;
}

class ConcurrencyTest : public testing::Test {
 protected:
  void Join(const ThreadKey& thread, std::uint32_t number = 0) {
    log_.OnClock(thread, kProcess, {.time_ns = 0, .number = number});
  }
  [[nodiscard]] Concurrency Count(std::vector<ThreadStay> threads) const {
    ConcurrencyCount count(log_, kSeed, kLevel);
    for (const ThreadStay& thread : threads) count.Add(thread);
    return std::move(count).Count();
  }
  [[nodiscard]] static ThreadStay Whole(const ThreadKey& thread) {
    return {.key = thread, .life = {0, kEnd}};
  }

  WaitLog log_{1'000'000};
};

TEST_F(ConcurrencyTest, AThreadWithoutASampleAtAPointRuns) {
  Join(kFirst);
  Join(kSecond);
  // The second one sleeps from 200 ms on, is woken at 500 ms, and runs again at 600 ms.
  log_.AddWait(Wait(kSecond, 1, 200 * kMs, 600 * kMs, 100 * kMs), 1);
  const Concurrency found = Count({Whole(kFirst), Whole(kSecond)});
  const std::uint64_t all = PointsIn(0, kEnd);
  const std::uint64_t asleep = PointsIn(200 * kMs, 500 * kMs);
  const std::uint64_t off = PointsIn(200 * kMs, 600 * kMs);
  EXPECT_EQ(found.levels, (std::vector<ConcurrencyLevel>{
                              {.threads = 1, .running = off, .wanting = asleep},
                              {.threads = 2, .running = all - off, .wanting = all - asleep}}));
  EXPECT_EQ(found.unknown_points, 0u);
}

TEST_F(ConcurrencyTest, APreemptedThreadWantsACpu) {
  Join(kFirst);
  process::Sample sample = Wait(kFirst, 1, 100 * kMs, 300 * kMs, 200 * kMs);
  sample.state = process::State::kRunnable;
  log_.AddWait(sample, 1);
  const Concurrency found = Count({Whole(kFirst)});
  const std::uint64_t off = PointsIn(100 * kMs, 300 * kMs);
  const std::uint64_t all = PointsIn(0, kEnd);
  EXPECT_EQ(found.levels,
            (std::vector<ConcurrencyLevel>{{.threads = 0, .running = off, .wanting = 0},
                                           {.threads = 1, .running = all - off, .wanting = all}}));
}

TEST_F(ConcurrencyTest, WhatHasNotEndedIsKnownWithoutASample) {
  Join(kFirst);
  Join(kSecond);
  ThreadStay blocked = Whole(kFirst);
  blocked.off_since_ns = 700 * kMs;
  blocked.blocked = true;
  ThreadStay preempted = Whole(kSecond);
  preempted.off_since_ns = 900 * kMs;
  // Its sample came after the end: the time counts once.
  log_.AddWait(Wait(kFirst, 1, 700 * kMs, kEnd + 5 * kMs), 1);
  const Concurrency found = Count({blocked, preempted});
  EXPECT_EQ(
      found.levels,
      (std::vector<ConcurrencyLevel>{
          {.threads = 0, .running = PointsIn(900 * kMs, kEnd), .wanting = 0},
          {.threads = 1,
           .running = PointsIn(700 * kMs, 900 * kMs),
           .wanting = PointsIn(700 * kMs, kEnd)},
          {.threads = 2, .running = PointsIn(0, 700 * kMs), .wanting = PointsIn(0, 700 * kMs)}}));
}

TEST_F(ConcurrencyTest, OnlyPointsAtWhichAThreadLivesCount) {
  Join(kFirst);
  Join(kSecond);
  const Concurrency found = Count({{.key = kFirst, .life = {100 * kMs, 200 * kMs}},
                                   {.key = kSecond, .life = {400 * kMs, 450 * kMs}}});
  const std::uint64_t points = PointsIn(100 * kMs, 200 * kMs) + PointsIn(400 * kMs, 450 * kMs);
  EXPECT_EQ(found.levels,
            (std::vector<ConcurrencyLevel>{{.threads = 1, .running = points, .wanting = points}}));
}

TEST_F(ConcurrencyTest, WhereASampleIsMissingNothingIsKnown) {
  Join(kFirst);
  Join(kSecond);
  log_.AddWait(Wait(kSecond, 1, 100 * kMs, 200 * kMs), 1);
  log_.AddWait(Wait(kSecond, 3, 500 * kMs, 600 * kMs), 1);
  const Concurrency found = Count({Whole(kFirst), Whole(kSecond)});
  EXPECT_EQ(found.unknown_points, PointsIn(200 * kMs, 500 * kMs));
  std::uint64_t running = 0;
  std::uint64_t wanting = 0;
  for (const ConcurrencyLevel& level : found.levels) {
    running += level.running;
    wanting += level.wanting;
  }
  EXPECT_EQ(running, PointsIn(0, kEnd) - found.unknown_points);
  EXPECT_EQ(wanting, running);
}

TEST_F(ConcurrencyTest, SamplesThatOnlyTheClockKnowsOfAreMissing) {
  Join(kFirst);
  log_.AddWait(Wait(kFirst, 1, 100 * kMs, 200 * kMs), 1);
  log_.OnClock(kFirst, kProcess, {.time_ns = kEnd, .number = 2});
  EXPECT_EQ(Count({Whole(kFirst)}).unknown_points, PointsIn(200 * kMs, kEnd));
  ThreadStay blocked = Whole(kFirst);
  blocked.off_since_ns = 300 * kMs;
  blocked.blocked = true;
  EXPECT_EQ(Count({blocked}).unknown_points, PointsIn(200 * kMs, 300 * kMs));
}

TEST_F(ConcurrencyTest, AThreadThatTheLogDoesNotKnowMakesItsLifeUnknown) {
  Join(kFirst);
  const Concurrency found =
      Count({Whole(kFirst), {.key = kSecond, .life = {300 * kMs, 400 * kMs}}});
  EXPECT_EQ(found.unknown_points, PointsIn(300 * kMs, 400 * kMs));
}

TEST(Concurrency, SumsAreByNumberOfThreads) {
  Concurrency sum{.levels = {{0, 1, 0}, {2, 3, 4}}, .unknown_points = 5};
  sum += Concurrency{.levels = {{1, 10, 10}, {2, 20, 20}}, .unknown_points = 7};
  EXPECT_EQ(sum,
            (Concurrency{.levels = {{0, 1, 0}, {1, 10, 10}, {2, 23, 24}}, .unknown_points = 12}));
}

}  // namespace
}  // namespace profd::aggregate
