// What is left of a store after power cuts, kills, full disks and damage.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "daemon/store/sqlite/sqlite_store.h"
#include "tests/unit/store/journal_vfs.h"
#include "tests/unit/store/store_fixture.h"
#include "tests/unit/store/window_maker.h"

namespace profd::store {
namespace {

class StoreCrashTest : public StoreFixture {
 protected:
  StoreCrashTest() {
    shape_.processes = 2;
    shape_.stacks_each = 6;
  }
  // Seconds that the store's windows cover; every clock in it must close.
  static std::uint64_t SecondsIn(const SqliteStore& store) {
    const auto got = store.Query({}, {});
    if (!got) return got.error().code == ErrorCode::kNotFound ? 0 : UINT64_MAX;
    EXPECT_TRUE(got->dropped.empty());
    for (const auto& thread : got->threads) EXPECT_EQ(ClosureError(thread), 0.0);
    return (got->end_ns - got->start_ns) / kSecond;
  }
  std::string ReadFile() const {
    std::ifstream file(options_.path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  static void WriteFile(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  void Remove() const {
    for (const char* end : {"", "-wal", "-shm", ".damaged", ".damaged-wal", ".damaged-shm"})
      std::filesystem::remove(options_.path + end);
  }

  HostShape shape_;
};

// A cut after every write and every sync of two puts, one of which folds a minute.
TEST_F(StoreCrashTest, PowerCutsAtEveryWriteLeaveEveryCommittedWindow) {
  std::vector<std::size_t> committed;  // steps after each put
  JournalVfs vfs;
  options_.vfs = JournalVfs::kName;
  {
    const auto store = Open();
    for (std::uint64_t i = 0; i < 8; ++i) {
      ASSERT_TRUE(store->Put(MakeWindow(i, shape_)).ok());
      committed.push_back(vfs.size());
    }
  }
  options_.vfs = nullptr;
  const std::string path = options_.path;
  options_.path = folder_.Path("after.db");
  std::size_t cuts = 0;
  for (std::size_t step = 0; step <= committed.back(); step += step < committed[5] ? 11 : 1) {
    std::uint64_t puts = 0;
    while (puts < committed.size() && committed[puts] <= step) ++puts;
    for (const auto unsynced : {Unsynced::kLost, Unsynced::kKept, Unsynced::kTorn}) {
      Remove();
      for (const auto& [file, bytes] : vfs.FilesAfter(step, unsynced))
        WriteFile(options_.path + file.substr(path.size()), bytes);
      const auto store = Open();
      ASSERT_NE(store, nullptr) << "step " << step;
      const std::uint64_t seconds = SecondsIn(*store);
      ASSERT_GE(seconds, puts * 10) << "step " << step;
      ASSERT_LE(seconds, puts * 10 + 10) << "step " << step;
      ASSERT_TRUE(store->Status().losses.empty()) << store->Status().losses[0];
      ++cuts;
    }
  }
  EXPECT_GT(cuts, 300u);
}

TEST_F(StoreCrashTest, PowerCutsWhileOldWindowsGoLeaveTheNewOnes) {
  JournalVfs vfs;
  options_.vfs = JournalVfs::kName;
  options_.limit_bytes = 1u << 20;
  shape_.fresh_frames = true;
  shape_.processes = 8;
  shape_.stacks_each = 20;
  std::uint64_t puts = 0;
  std::size_t before = 0;
  std::size_t after = 0;
  {
    const auto store = Open();
    // Until some have gone.
    for (; store->Status().first_unix_ns < kStartUnixNs + 200 * kSecond; ++puts) {
      ASSERT_LT(puts, 500u);
      before = vfs.size();
      ASSERT_TRUE(store->Put(MakeWindow(puts, shape_)).ok());
      after = vfs.size();
    }
  }
  options_.vfs = nullptr;
  const std::string path = options_.path;
  options_.path = folder_.Path("after.db");
  for (std::size_t step = before; step <= after; step += 9) {
    for (const auto unsynced : {Unsynced::kLost, Unsynced::kTorn}) {
      Remove();
      for (const auto& [file, bytes] : vfs.FilesAfter(step, unsynced))
        WriteFile(options_.path + file.substr(path.size()), bytes);
      const auto store = Open();
      ASSERT_NE(store, nullptr);
      EXPECT_GE(store->Status().last_unix_ns, kStartUnixNs + (puts - 1) * 10 * kSecond);
      EXPECT_GT(SecondsIn(*store), 0u);
      EXPECT_TRUE(store->Status().losses.empty());
    }
  }
}

TEST_F(StoreCrashTest, AKilledWriterLosesNoCommittedWindow) {
  int reported[2];
  ASSERT_EQ(::pipe(reported), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto store = SqliteStore::Open(options_, clock_);
    for (std::uint64_t i = 0; store.ok(); ++i) {
      if (!(*store)->Put(MakeWindow(i, shape_))) break;
      if (::write(reported[1], "x", 1) != 1) break;
    }
    ::_exit(1);
  }
  ::close(reported[1]);
  std::uint64_t puts = 0;
  char byte = 0;
  while (puts < 15 && ::read(reported[0], &byte, 1) == 1) ++puts;
  ASSERT_EQ(puts, 15u);
  ::kill(child, SIGKILL);  // in the middle of whatever it does
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  while (::read(reported[0], &byte, 1) == 1) ++puts;
  ::close(reported[0]);
  const auto store = Open();
  EXPECT_GE(SecondsIn(*store), puts * 10);
  EXPECT_LE(SecondsIn(*store), puts * 10 + 10);
  EXPECT_TRUE(store->Status().losses.empty());
  EXPECT_TRUE(store->Put(MakeWindow(100, shape_)).ok());
}

TEST_F(StoreCrashTest, AFullDiskFailsPutsAndLosesNothing) {
  JournalVfs vfs;
  options_.vfs = JournalVfs::kName;
  const auto store = Open();
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(store->Put(MakeWindow(i, shape_)).ok());
  vfs.SetFull(true);
  shape_.samples_each = 800;  // more than fits into what the files have already
  shape_.stacks_each = 600;
  for (int i = 0; i < 3; ++i) {
    const auto put = store->Put(MakeWindow(8, shape_));
    ASSERT_FALSE(put.ok());
    EXPECT_EQ(put.error().code, ErrorCode::kExhausted) << put.error().message;
  }
  EXPECT_GT(vfs.refused(), 0u);
  EXPECT_EQ(SecondsIn(*store), 80u);
  EXPECT_EQ(store->Status().failed_puts, 3u);
  EXPECT_FALSE(store->Status().last_error.empty());
  vfs.SetFull(false);
  EXPECT_TRUE(store->Put(MakeWindow(8, shape_)).ok());
  EXPECT_EQ(SecondsIn(*store), 90u);
  EXPECT_TRUE(store->Status().last_error.empty());
}

// Whatever was done to the file: it opens, what it says is whole, and it goes on.
class StoreDamageTest : public StoreCrashTest {
 protected:
  void SetUp() override {
    {
      const auto store = Open();
      for (std::uint64_t i = 0; i < 15; ++i) ASSERT_TRUE(store->Put(MakeWindow(i, shape_)).ok());
    }
    whole_ = ReadFile();
    ASSERT_GT(whole_.size(), 20'000u);
  }
  // Seconds that are left.
  std::uint64_t OpenDamaged(const std::string& bytes) {
    Remove();
    WriteFile(options_.path, bytes);
    auto store = SqliteStore::Open(options_, clock_);
    EXPECT_TRUE(store.ok()) << store.error().message;
    if (!store) return 0;
    const auto got = (*store)->Query({}, {});
    std::uint64_t seconds = 0;
    if (got) {
      for (const auto& thread : got->threads) EXPECT_EQ(ClosureError(thread), 0.0);
      seconds = (got->end_ns - got->start_ns) / kSecond;
    }
    const auto put = (*store)->Put(MakeWindow(50, shape_));
    EXPECT_TRUE(put.ok()) << put.error().message;
    const auto after = (*store)->Query({kStartUnixNs + 500 * kSecond, UINT64_MAX}, {});
    EXPECT_TRUE(after.ok());
    return seconds;
  }
  std::string whole_;
};

TEST_F(StoreDamageTest, FlippedBytesNeverCrashAndAreNeverBelieved) {
  std::mt19937 random(5);
  std::uint64_t sum = 0;
  constexpr int kRounds = 150;
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = whole_;
    const int flips = 1 << (round % 6);
    for (int i = 0; i < flips; ++i)
      bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
    sum += OpenDamaged(bytes);
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
  EXPECT_GT(sum, 150u * kRounds / 3);  // most survives
}

TEST_F(StoreDamageTest, TruncatedFilesOpen) {
  for (std::size_t part = 0; part < 24; ++part) {
    OpenDamaged(whole_.substr(0, whole_.size() * part / 24));
    ASSERT_FALSE(HasFailure()) << "part " << part;
  }
}

TEST_F(StoreDamageTest, SaysWhatItSetAside) {
  std::string bytes = whole_;
  bytes.replace(0, 100, std::string(100, 'x'));
  Remove();
  WriteFile(options_.path, bytes);
  const auto store = Open();
  ASSERT_EQ(store->Status().losses.size(), 1u);
  EXPECT_NE(store->Status().losses[0].find("renamed to " + options_.path + ".damaged"),
            std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(options_.path + ".damaged"));
  EXPECT_EQ(store->Status().windows, 0u);
}

}  // namespace
}  // namespace profd::store
