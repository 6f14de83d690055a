#include "daemon/store/sqlite/store_tail.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/store/store_fixture.h"
#include "tests/unit/store/window_maker.h"

namespace profd::store {
namespace {

constexpr std::uint64_t kMinute = 60 * kSecond;

class StoreTailTest : public StoreFixture {
 protected:
  void Put(SqliteStore& store, std::uint64_t index) {
    clock_.Set((1000 + index * 10) * kSecond, Time(index));
    ASSERT_TRUE(store.Put(MakeWindow(index)).ok());
  }
  static std::uint64_t Time(std::uint64_t index) { return kStartUnixNs + index * 10 * kSecond; }
  [[nodiscard]] StoreTail Tail(std::uint64_t interval_ns = kMinute) const {
    return StoreTail({.path = options_.path,
                      .interval_ns = interval_ns,
                      .grace_ns = 3 * kMinute,
                      .limits = options_.query_limits});
  }
  // Of windows from `first` up to `end`.
  static std::uint64_t ClockSum(std::uint64_t first, std::uint64_t end) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = first; i < end; ++i) sum += ClockSum(MakeWindow(i));
    return sum;
  }
  static std::uint64_t ClockSum(const aggregate::Profile& profile) {
    std::uint64_t sum = 0;
    for (const auto& thread : profile.threads) sum += aggregate::ClockTotal(thread.clock);
    return sum;
  }
};

TEST_F(StoreTailTest, WithoutAHistoryThereIsNothing) {
  EXPECT_EQ(Tail().End().error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Tail().Next({}, Time(0)).error().code, ErrorCode::kNotFound);
}

TEST_F(StoreTailTest, EachMinuteComesOnceWhenItIsOver) {
  const auto store = Open();
  auto cursor = *Tail().End();
  std::uint64_t minutes = 0;
  for (std::uint64_t i = 0; i < 20; ++i) {
    Put(*store, i);
    const auto part = Tail().Next(cursor, Time(i));
    ASSERT_TRUE(part.ok()) << part.error().message;
    // The first window of the next minute compacts the one before.
    ASSERT_EQ(part->has_value(), i != 0 && i % 6 == 0) << i;
    if (!*part) continue;
    EXPECT_EQ((*part)->from_unix_ns, Time(6 * minutes));
    EXPECT_EQ((*part)->to_unix_ns, Time(6 * minutes + 6));
    EXPECT_EQ((*part)->dropped_ns, 0u);
    EXPECT_EQ((*part)->unreadable_ns, 0u);
    EXPECT_EQ(aggregate::WindowLength((*part)->profile), kMinute);
    EXPECT_EQ(ClockSum((*part)->profile), ClockSum(6 * minutes, 6 * minutes + 6));
    EXPECT_GT((*part)->profile.nodes.size(), 1u);
    cursor = (*part)->next;
    ++minutes;
    EXPECT_FALSE(Tail().Next(cursor, Time(i))->has_value());
  }
  EXPECT_EQ(minutes, 3u);
}

TEST_F(StoreTailTest, ALongerIntervalHasSeveralMinutes) {
  const auto store = Open();
  auto cursor = *Tail().End();
  cursor.file = Tail().End()->file;
  const StoreTail tail = Tail(3 * kMinute);
  // The intervals are those of the clock: a minute begins here, but not three.
  std::uint64_t covered = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    Put(*store, i);
    const auto part = tail.Next(cursor, Time(i));
    ASSERT_TRUE(part.ok());
    if (!*part) continue;
    EXPECT_EQ((*part)->to_unix_ns % (3 * kMinute), 0u);
    EXPECT_EQ((*part)->from_unix_ns, Time(0) + covered);
    covered = (*part)->to_unix_ns - Time(0);
    cursor = (*part)->next;
  }
  EXPECT_GE(covered, 6 * kMinute);
}

TEST_F(StoreTailTest, AGapEndsAPartAndTheLastOneIsCompleteAfterItsGrace) {
  const auto store = Open();
  auto cursor = *Tail(3 * kMinute).End();
  for (std::uint64_t i = 0; i < 6; ++i) Put(*store, i);
  for (std::uint64_t i = 66; i < 73; ++i) Put(*store, i);  // profd did not run for ten minutes
  const StoreTail tail = Tail(60 * kMinute);
  const auto first = tail.Next(cursor, Time(73));
  ASSERT_TRUE(first.ok() && first->has_value());
  EXPECT_EQ((*first)->to_unix_ns, Time(6));
  cursor = (*first)->next;
  // What comes behind may still belong to the hour.
  EXPECT_FALSE(tail.Next(cursor, Time(73))->has_value());
  const auto second = tail.Next(cursor, Time(73) + 64 * kMinute);
  ASSERT_TRUE(second.ok() && second->has_value());
  EXPECT_EQ((*second)->from_unix_ns, Time(66));
  EXPECT_EQ((*second)->dropped_ns, 0u);
}

TEST_F(StoreTailTest, WhatTheHistoryHasDroppedIsCounted) {
  options_.limit_ns = 10 * kMinute;
  const auto store = Open();
  for (std::uint64_t i = 0; i < 7; ++i) Put(*store, i);
  const auto cursor = (*Tail().Next({Tail().End()->file, 0, 0}, Time(7)))->next;
  EXPECT_EQ(cursor.end_unix_ns, Time(6));
  for (std::uint64_t i = 7; i < 140; ++i) Put(*store, i);
  const auto part = Tail().Next(cursor, Time(140));
  ASSERT_TRUE(part.ok() && part->has_value());
  EXPECT_GT((*part)->from_unix_ns, Time(6));
  EXPECT_EQ((*part)->dropped_ns, (*part)->from_unix_ns - Time(6));
}

TEST_F(StoreTailTest, AnotherFileIsReadByTime) {
  TailCursor cursor;
  {
    const auto store = Open();
    for (std::uint64_t i = 0; i < 13; ++i) Put(*store, i);
    cursor = (*Tail().Next({Tail().End()->file, 0, 0}, Time(13)))->next;
    EXPECT_EQ(cursor.end_unix_ns, Time(6));
  }
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(options_.path + end);
  const auto store = Open();
  EXPECT_NE(Tail().End()->file, cursor.file);
  for (std::uint64_t i = 0; i < 13; ++i) Put(*store, i);
  const auto part = Tail().Next(cursor, Time(13));
  ASSERT_TRUE(part.ok() && part->has_value());
  EXPECT_EQ((*part)->from_unix_ns, Time(6));
}

TEST_F(StoreTailTest, AFileKeepsItsIdentity) {
  std::int64_t file = 0;
  {
    const auto store = Open();
    file = Tail().End()->file;
    EXPECT_NE(file, 0);
  }
  const auto store = Open();
  EXPECT_EQ(Tail().End()->file, file);
}

}  // namespace
}  // namespace profd::store
