// Limits of size and age, and clocks that jump.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <string>

#include "daemon/store/sqlite/sqlite_store.h"
#include "tests/unit/store/store_fixture.h"
#include "tests/unit/store/window_maker.h"

namespace profd::store {
namespace {

class StoreLimitsTest : public StoreFixture {
 protected:
  void SetTime(std::uint64_t index) {
    clock_.Set((1000 + index * 10) * kSecond, kStartUnixNs + index * 10 * kSecond);
  }
};

TEST_F(StoreLimitsTest, TheFileStaysWithinItsLimitAndOneWindow) {
  options_.limit_bytes = 2u << 20;
  HostShape shape;
  shape.fresh_frames = true;  // what is interned must go as well
  const auto store = Open();
  std::uint64_t largest = 0;
  std::uint64_t window = 0;
  for (std::uint64_t i = 0; i < 150; ++i) {
    SetTime(i);
    const std::uint64_t before = FileBytes();
    ASSERT_TRUE(store->Put(MakeWindow(i, shape)).ok());
    if (FileBytes() > before) window = std::max(window, FileBytes() - before);
    largest = std::max(largest, FileBytes());
  }
  EXPECT_LE(largest, options_.limit_bytes + window);
  EXPECT_GT(largest, options_.limit_bytes / 2);
  const auto status = store->Status();
  EXPECT_EQ(status.last_unix_ns, kStartUnixNs + 1500 * kSecond);
  EXPECT_GT(status.first_unix_ns, kStartUnixNs);
  EXPECT_GT(status.windows, 5u);
  EXPECT_LE(status.bytes, options_.limit_bytes + window + (64u << 10));
  EXPECT_GE(status.largest_put_bytes, window)
      << "it writes at least what it makes the file grow by";
  EXPECT_LT(status.largest_put_bytes, options_.limit_bytes);
}

TEST_F(StoreLimitsTest, AReaderWithoutAnEndDoesNotMakeTheFileGrowForEver) {
  options_.limit_bytes = 2u << 20;
  HostShape shape;
  shape.fresh_frames = true;
  const auto store = Open();
  ASSERT_TRUE(store->Put(MakeWindow(0, shape)).ok());
  sqlite3* reader = nullptr;
  ASSERT_EQ(sqlite3_open_v2(options_.path.c_str(), &reader, SQLITE_OPEN_READONLY, nullptr),
            SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM sqlite_master", nullptr, nullptr, nullptr),
      SQLITE_OK);
  std::uint64_t window = 0;
  std::uint64_t index = 1;
  Result<void> put;
  for (; index < 500; ++index) {
    const std::uint64_t before = FileBytes();
    SetTime(index);
    put = store->Put(MakeWindow(index, shape));
    if (!put) break;
    window = std::max(window, FileBytes() - before);
  }
  ASSERT_FALSE(put.ok());
  EXPECT_EQ(put.error().code, ErrorCode::kExhausted) << put.error().message;
  EXPECT_LE(FileBytes(), options_.limit_bytes + window);
  EXPECT_EQ(store->Status().failed_puts, 1u);
  sqlite3_close(reader);
  EXPECT_TRUE(store->Put(MakeWindow(index, shape)).ok()) << "once it has ended all is well again";
  EXPECT_LE(FileBytes(), options_.limit_bytes);
}

TEST_F(StoreLimitsTest, OldWindowsGo) {
  options_.limit_ns = 300 * kSecond;
  const auto store = Open();
  for (std::uint64_t i = 0; i < 60; ++i) {
    SetTime(i);
    ASSERT_TRUE(store->Put(MakeWindow(i)).ok());
  }
  EXPECT_GE(store->Status().first_unix_ns, kStartUnixNs + (590 - 300 - 60) * kSecond);
  EXPECT_LE(store->Status().first_unix_ns, kStartUnixNs + (590 - 300 + 60) * kSecond);
}

TEST_F(StoreLimitsTest, AClockThatJumpsForwardMakesNothingOldAtOnce) {
  const auto store = Open();
  for (std::uint64_t i = 0; i < 6; ++i) {
    SetTime(i);
    ASSERT_TRUE(store->Put(MakeWindow(i)).ok());
  }
  // For ten minutes the host believes that it is a year later.
  constexpr std::uint64_t kYear = 365ull * 24 * 3600 * kSecond;
  for (std::uint64_t i = 6; i < 66; ++i) {
    clock_.Set((1000 + i * 10) * kSecond, kStartUnixNs + i * 10 * kSecond + kYear);
    auto window = MakeWindow(i);
    window.start_unix_ns += kYear;
    ASSERT_TRUE(store->Put(window).ok());
  }
  SetTime(66);
  ASSERT_TRUE(store->Put(MakeWindow(66)).ok());
  EXPECT_EQ(store->Status().first_unix_ns, kStartUnixNs);
  const auto got = store->Query({}, {});
  ASSERT_TRUE(got.ok());
  EXPECT_EQ((got->end_ns - got->start_ns) / kSecond, 670u);
}

TEST_F(StoreLimitsTest, EqualAndEarlierTimesLoseNoWindow) {
  const auto store = Open();
  for (std::uint64_t i = 0; i < 30; ++i) {
    SetTime(i);
    auto window = MakeWindow(i);
    if (i >= 10) window.start_unix_ns = kStartUnixNs;        // stands still
    if (i >= 20) window.start_unix_ns = (30 - i) * kSecond;  // 1970, and backwards
    ASSERT_TRUE(store->Put(window).ok());
  }
  const auto got = store->Query({0, UINT64_MAX}, {});
  ASSERT_TRUE(got.ok());
  EXPECT_EQ((got->end_ns - got->start_ns) / kSecond, 300u);
  for (const auto& thread : got->threads) EXPECT_EQ(ClosureError(thread), 0.0);
}

TEST_F(StoreLimitsTest, RefusesALimitThatHoldsNothing) {
  options_.limit_bytes = 1000;
  EXPECT_EQ(SqliteStore::Open(options_, clock_).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace profd::store
