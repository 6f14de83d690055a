#include "daemon/elf/debug/debug_download.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/eventually.h"
#include "tests/support/manual_clock.h"

namespace profd::elf {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr std::uint32_t kHostile = 1;
constexpr std::uint32_t kOther = 2;
constexpr std::uint64_t kSecond = 1'000'000'000;

// Servers that have the build ids that begin with "real", and answer when they are allowed to.
struct Log {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  std::vector<std::string> requested;
};

class FakeServers : public DebugDownload::Servers {
 public:
  FakeServers(Log& log, std::function<bool()> goes_on) : log_(log), goes_on_(std::move(goes_on)) {}
  DebugDownload::Answer Get(const std::string& build_id) override {
    std::unique_lock lock(log_.mutex);
    log_.requested.push_back(build_id);
    while (!log_.open && goes_on_()) log_.changed.wait_for(lock, std::chrono::milliseconds(10));
    if (build_id.starts_with("real")) return {"/cache/" + build_id, ""};
    return {"", "not found"};
  }

 private:
  Log& log_;
  const std::function<bool()> goes_on_;
};

class DownloadSharesTest : public testing::Test {
 protected:
  DownloadSharesTest() { clock_.Set(kSecond, 0); }
  void OpenServers() {
    const std::scoped_lock lock(log_.mutex);
    log_.open = true;
    log_.changed.notify_all();
  }
  std::vector<std::string> Requested() {
    const std::scoped_lock lock(log_.mutex);
    return log_.requested;
  }
  bool IsRequested(const std::string& build_id, std::uint32_t user) {
    return download_.Ask(build_id, user).why == "the download from debuginfod is running";
  }
  static std::string MadeUp(int i) { return "made up " + std::to_string(i); }

  Log log_;
  test::ManualClock clock_;
  budget::Shares shares_{PROFD_SHARE_DEBUG_FILES, DebugDownload::kShareOfUser, clock_};
  DebugDownload download_{shares_, [this](std::function<bool()> goes_on) {
                            return std::make_unique<FakeServers>(log_, std::move(goes_on));
                          }};
};

TEST_F(DownloadSharesTest, EachIsRequestedOnceAndFoundForAll) {
  OpenServers();
  EXPECT_TRUE(IsRequested("real", kHostile));
  ASSERT_TRUE(test::Eventually([&] { return download_.improvements() == 1; }));
  EXPECT_EQ(download_.Ask("real", kHostile).path, "/cache/real");
  EXPECT_EQ(download_.Ask("real", kOther).path, "/cache/real");
  EXPECT_THAT(Requested(), ElementsAre("real"));
}

TEST_F(DownloadSharesTest, AUserHasAShareOfTheRequests) {
  constexpr auto kShare = static_cast<int>(DebugDownload::kShareOfUser.at_once);
  for (int i = 0; i < kShare; ++i) EXPECT_TRUE(IsRequested(MadeUp(i), kHostile)) << i;
  EXPECT_EQ(download_.Ask(MadeUp(kShare), kHostile).why,
            "too many downloads from debuginfod were requested");
  EXPECT_TRUE(IsRequested(MadeUp(0), kHostile)) << "known already";
  EXPECT_TRUE(IsRequested("real", kOther)) << "another user has a share of its own";
  const auto beyond = shares_.Beyond();
  ASSERT_THAT(beyond, SizeIs(1));
  EXPECT_EQ(beyond[0].key.id, kHostile);
  clock_.Set(2 * kSecond, 0);
  EXPECT_TRUE(IsRequested(MadeUp(kShare), kHostile)) << "later";
}

TEST_F(DownloadSharesTest, UsersAreServedInTurn) {
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(IsRequested(MadeUp(i), kHostile));
  ASSERT_TRUE(test::Eventually([&] { return Requested().size() == 1; }));
  EXPECT_TRUE(IsRequested("real", kOther));
  OpenServers();
  ASSERT_TRUE(test::Eventually([&] { return download_.improvements() == 1; }));
  const auto requested = Requested();
  ASSERT_GE(requested.size(), 2u);
  EXPECT_EQ(requested[1], "real");
}

TEST_F(DownloadSharesTest, MadeUpIdsDisplaceNoneOfOthers) {
  OpenServers();
  EXPECT_TRUE(IsRequested("unknown to servers", kOther));
  ASSERT_TRUE(test::Eventually(
      [&] { return download_.Ask("unknown to servers", kOther).why == "not found"; }));
  constexpr auto kMany = static_cast<int>(2 * DebugDownload::kMaxKnown);
  for (int i = 0; i < kMany; ++i) {
    clock_.Set(clock_.MonotonicNs() + kSecond, 0);
    EXPECT_TRUE(IsRequested(MadeUp(i), kHostile)) << i;
    if (i % 1'000 != 0) continue;
    ASSERT_TRUE(test::Eventually([&] { return Requested().size() >= std::size_t(i); }));
  }
  EXPECT_EQ(download_.Ask("unknown to servers", kOther).why, "not found");
  ASSERT_TRUE(test::Eventually([&] { return Requested().size() == kMany + 1u; }));
  // The user's own are forgotten, so that they cost a bounded amount.
  EXPECT_TRUE(IsRequested(MadeUp(0), kHostile));
}

}  // namespace
}  // namespace profd::elf
