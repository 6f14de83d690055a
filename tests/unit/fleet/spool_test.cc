#include "daemon/fleet/spool/spool.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_folder.h"

namespace profd::fleet {
namespace {

constexpr std::uint64_t kLimit = 100'000;

class SpoolTest : public ::testing::Test {
 protected:
  Spool Open(std::uint64_t next, std::uint64_t limit = kLimit) {
    auto spool = Spool::Open(folder_.Path("spool"), limit, next);
    EXPECT_TRUE(spool) << (spool ? "" : spool.error().message);
    return *std::move(spool);
  }
  static SpoolEntry Entry(std::uint64_t number, std::size_t bytes = 10) {
    return {.from_unix_ns = number,
            .to_unix_ns = number + 1,
            .covers_ns = 10 + number,
            .gaps = {},
            .payload = std::string(bytes, static_cast<char>('a' + number % 26))};
  }
  static bool Add(Spool& spool, const SpoolEntry& entry) {
    Spool::Dropped dropped;
    return spool.Add(entry, dropped).ok() && dropped.entries == 0;
  }
  std::string FirstFile() {
    for (const auto& file : std::filesystem::directory_iterator(folder_.path() / "spool"))
      return file.path();
    return "";
  }

  const test::TempFolder folder_;
};

TEST_F(SpoolTest, ComesBackInOrderAndWhole) {
  Spool spool = Open(0);
  EXPECT_TRUE(spool.empty());
  for (std::uint64_t i = 1; i <= 12; ++i) {
    SpoolEntry entry = Entry(i);
    entry.gaps = {{"spool_full", i}};
    entry.payload += std::string("\n{\0x", 4);
    Spool::Dropped dropped;
    ASSERT_TRUE(spool.Add(entry, dropped));
    EXPECT_EQ(dropped.entries, 0u);
  }
  EXPECT_EQ(spool.size(), 12u);
  for (std::uint64_t i = 1; i <= 12; ++i) {
    EXPECT_EQ(spool.first(), i);
    const auto entry = spool.Read();
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->from_unix_ns, i);
    EXPECT_EQ(entry->to_unix_ns, i + 1);
    EXPECT_EQ(entry->covers_ns, 10 + i);
    EXPECT_EQ(entry->gaps, (Gaps{{"spool_full", i}}));
    EXPECT_EQ(entry->payload, Entry(i).payload + std::string("\n{\0x", 4));
    spool.RemoveFirst();
  }
  EXPECT_TRUE(spool.empty());
  EXPECT_EQ(spool.bytes(), 0u);
}

TEST_F(SpoolTest, IsThereAfterARestartUpToWhatWasRecorded) {
  {
    Spool spool = Open(1);
    for (std::uint64_t i = 1; i <= 5; ++i) ASSERT_TRUE(Add(spool, Entry(i)));
    spool.RemoveFirst();
    folder_.Write("spool/0000000000000009.entry.part", "half");
    folder_.Write("spool/other", "not ours");
  }
  Spool spool = Open(4);  // 4 and 5 are to be made again
  EXPECT_EQ(spool.size(), 2u);
  EXPECT_EQ(spool.next(), 4u);
  EXPECT_EQ(spool.first(), 2u);
  EXPECT_EQ(spool.Read()->payload, Entry(2).payload);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "spool" / "other"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "spool/0000000000000009.entry.part"));
  std::uint64_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder_.path() / "spool"))
    if (file.path().extension() == ".entry") bytes += file.file_size();
  EXPECT_EQ(spool.bytes(), bytes);
}

TEST_F(SpoolTest, TheOldestMakesRoomAndIsCounted) {
  Spool spool = Open(1);
  std::uint64_t lost_ns = 0;
  std::uint64_t lost = 0;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    SpoolEntry entry = Entry(i, 20'000);
    entry.gaps = {{"x", 1}};
    Spool::Dropped dropped;
    ASSERT_TRUE(spool.Add(entry, dropped));
    lost += dropped.entries;
    lost_ns += dropped.ns;
    EXPECT_EQ(dropped.gaps, dropped.entries == 0 ? Gaps() : (Gaps{{"x", dropped.entries}}));
    EXPECT_LE(spool.bytes(), kLimit);
  }
  // Four of 20 kB and their heads fit.
  EXPECT_EQ(spool.size(), 4u);
  EXPECT_EQ(lost, 16u);
  EXPECT_EQ(lost_ns, 16 * 10 + 16 * 17 / 2);
  EXPECT_EQ(spool.first(), 17u);
}

TEST_F(SpoolTest, WhatIsLargerThanTheLimitIsLostAlone) {
  Spool spool = Open(1);
  ASSERT_TRUE(Add(spool, Entry(1)));
  Spool::Dropped dropped;
  ASSERT_TRUE(spool.Add(Entry(2, kLimit), dropped));
  EXPECT_EQ(dropped.entries, 1u);
  EXPECT_EQ(dropped.ns, 12u);
  EXPECT_EQ(spool.size(), 1u);
  EXPECT_EQ(spool.next(), 2u);
}

TEST_F(SpoolTest, ForgetsTheLastOnes) {
  Spool spool = Open(1);
  for (std::uint64_t i = 1; i <= 4; ++i) ASSERT_TRUE(Add(spool, Entry(i)));
  spool.Forget(3);
  EXPECT_EQ(spool.size(), 2u);
  EXPECT_EQ(spool.next(), 3u);
  EXPECT_EQ(Open(10).size(), 2u);
}

TEST_F(SpoolTest, DamagedEntriesAreErrors) {
  for (const char* bytes : {"", "no line", "{}\nxx", "[1]\n", "{\"bytes\":3}\nxx", "\xff\n"}) {
    Spool spool = Open(1);
    ASSERT_TRUE(Add(spool, Entry(1)));
    std::ofstream(FirstFile(), std::ios::trunc) << bytes;
    EXPECT_FALSE(spool.Read()) << bytes;
    spool.RemoveFirst();
    EXPECT_TRUE(spool.empty());
  }
}

TEST_F(SpoolTest, AFolderThatCannotBeMadeIsAnError) {
  const auto spool = Spool::Open(folder_.Write("file", "") + "/spool", kLimit, 1);
  ASSERT_FALSE(spool);
}

TEST_F(SpoolTest, AFileIsWholeOrNotThere) {
  const std::string path = folder_.Path("whole");
  ASSERT_TRUE(WriteWhole(path, "one"));
  ASSERT_TRUE(WriteWhole(path, "two"));
  EXPECT_EQ(folder_.Read("whole"), "two");
  EXPECT_EQ(folder_.Names(), std::set<std::string>{"whole"});
  EXPECT_FALSE(WriteWhole(folder_.Path("missing/x"), "one"));
  EXPECT_EQ(WriteWhole("/dev/full/x", "").error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace profd::fleet
