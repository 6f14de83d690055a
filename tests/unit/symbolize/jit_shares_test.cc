#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "daemon/symbolize/live/jit_symbols.h"
#include "tests/support/direct_reader.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_folder.h"

namespace profd::symbolize {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kHostile = 1;
constexpr std::uint32_t kOther = 2;
constexpr std::uint32_t kFirstOther = 5'000;  // the processes from here on are kOther's
constexpr std::uint64_t kRoundNs = LiveJitSymbols::kRecheckNs;
constexpr std::size_t kLargeBytes = 4u << 20;

// Processes that write lists without end, and one that does not.
class JitSharesTest : public ::testing::Test {
 protected:
  JitSharesTest() {
    clock_.Set(1, 0);
    std::string stat = "(x) S";
    for (int field = 4; field < 22; ++field) stat += " 0";
    stat_ = " " + stat + " 100 0\n";
    tree_.Write("root/tmp/keep", "");
    std::string lines;
    // Long names, so that the test has little to do itself.
    for (std::uint64_t at = 0; lines.size() < kLargeBytes; ++at)
      lines += std::to_string(10'000 + at) + "0 10 " + std::string(4'000, 'x') + "\n";
    tree_.Write("root/a", "1000 10 a\n" + lines);
    tree_.Write("root/b", "1000 10 b\n" + lines);
    tree_.Write("root/c", "1000 10 c\n" + lines);
  }

  void Start(std::uint32_t pid) {
    const std::string process = "proc/" + std::to_string(pid);
    const std::string user = std::to_string(::geteuid()) + "\t";
    const std::string group = std::to_string(::getegid()) + "\t";
    tree_.Write(process + "/status", "NSpid:\t" + std::to_string(pid) + "\nUid:\t" + user + user +
                                         user + user + "\nGid:\t" + group + group + group + group +
                                         "\nGroups:\t\n");
    tree_.Write(process + "/stat", std::to_string(pid) + stat_);
    tree_.Link(process + "/root", tree_.Path("root"));
  }
  [[nodiscard]] std::filesystem::path MapOf(std::uint32_t pid) const {
    return tree_.Path("root/tmp/perf-" + std::to_string(pid) + ".map");
  }
  // Replaces the list of a process.
  void PutList(std::uint32_t pid, const std::string& name) {
    std::filesystem::create_hard_link(tree_.Path("root/" + name), tree_.Path("root/new"));
    std::filesystem::rename(tree_.Path("root/new"), MapOf(pid));
  }
  std::string NameAt(std::uint32_t pid, std::uint64_t address) {
    const auto symbol = jit_.Find(pid, address);
    return symbol ? std::string(symbol->name) : symbol.error().message;
  }
  void Wait(std::uint64_t ns = kRoundNs) { clock_.Set(clock_.MonotonicNs() + ns, 0); }
  // What was left out of a share; 0: nothing.
  [[nodiscard]] std::uint64_t BeyondShare(profd_share_kind kind, std::uint32_t id) const {
    std::uint64_t count = 0;
    const budget::Shares& shares =
        kind == PROFD_SHARE_JIT_CODE ? shares_.of_process : shares_.of_user;
    for (const auto& one : shares.Beyond())
      if (one.key.kind == kind && one.key.id == id) count += one.count;
    return count;
  }

  std::string stat_;
  test::TempFolder tree_;
  test::ManualClock clock_;
  test::DirectReaders readers_{std::make_unique<JitParser>(), ProcFs(tree_.Path("proc"))};
  JitShares shares_{clock_};
  LiveJitSymbols jit_{readers_, clock_, shares_,
                      [](std::uint32_t pid) { return pid < kFirstOther ? kHostile : kOther; }};
};

TEST_F(JitSharesTest, AListThatIsReplacedAllTheTimeIsReadOnceASecond) {
  constexpr int kRounds = 200;  // 4 s
  Start(70);
  Start(kFirstOther);
  std::string before;
  int changes = 0;
  int explained = 0;
  for (int round = 0; round < kRounds; ++round) {
    PutList(70, std::string(1, static_cast<char>('a' + round % 3)));
    const std::string name = NameAt(70, 0x1000);
    changes += name == before ? 0 : 1;
    before = name;
    const std::string why = NameAt(70, 0x9'0000'0000);
    explained += why.starts_with("too much code is made at run time") ? 1 : 0;
    Wait();
  }
  const auto at_once = static_cast<int>(JitShares::kOfProcess.at_once / kLargeBytes);
  EXPECT_GE(changes, at_once / 2);
  EXPECT_LE(changes, at_once + kRounds / 50 + 2);
  EXPECT_GE(explained, kRounds - changes - 2) << "the frames say why they have no names";
  EXPECT_GT(BeyondShare(PROFD_SHARE_JIT_CODE, 70), 0u);
  EXPECT_EQ(BeyondShare(PROFD_SHARE_JIT_CODE, kFirstOther), 0u);
  EXPECT_EQ(BeyondShare(PROFD_SHARE_JIT_CODE_OF_USER, kHostile), 0u);
  // It costs the other process nothing.
  tree_.Write("root/tmp/perf-5000.map", "1000 10 other\n");
  EXPECT_EQ(NameAt(kFirstOther, 0x1000), "other");
}

TEST_F(JitSharesTest, ProcessesOfAUserShareWhatIsRead) {
  constexpr std::uint32_t kProcesses = 80;
  std::uint32_t named = 0;
  for (std::uint32_t pid = 100; pid < 100 + kProcesses; ++pid) {
    Start(pid);
    PutList(pid, "a");
    named += NameAt(pid, 0x1000) == "a" ? 1 : 0;
  }
  const auto at_once = static_cast<std::uint32_t>(JitShares::kOfUser.at_once / kLargeBytes);
  EXPECT_GE(named, at_once / 2);
  EXPECT_LE(named, at_once + 1);
  EXPECT_GE(BeyondShare(PROFD_SHARE_JIT_CODE_OF_USER, kHostile), kProcesses - named);
  Start(kFirstOther);
  PutList(kFirstOther, "b");
  EXPECT_EQ(NameAt(kFirstOther, 0x1000), "b") << "another user has a share of its own";
  Wait(LiveJitSymbols::kBeyondShareNs);
  EXPECT_EQ(NameAt(100 + kProcesses - 1, 0x1000), "a") << "later";
}

TEST_F(JitSharesTest, ManyProcessesOfAUserDisplaceTheirOwn) {
  Start(kFirstOther);
  tree_.Write("root/tmp/perf-5000.map", "1000 10 other\n");
  EXPECT_EQ(NameAt(kFirstOther, 0x1000), "other");
  std::filesystem::remove(MapOf(kFirstOther));
  for (std::uint32_t pid = 100; pid < 100 + 2 * LiveJitSymbols::kMaxProcesses; ++pid) {
    Start(pid);
    tree_.Write("root/tmp/perf-" + std::to_string(pid) + ".map", "1000 10 mine\n");
    EXPECT_EQ(NameAt(pid, 0x1000), "mine");
  }
  EXPECT_EQ(NameAt(kFirstOther, 0x1000), "other") << "it was read before the file was removed";
  std::filesystem::remove(MapOf(100));
  EXPECT_THAT(NameAt(100, 0x1000), HasSubstr("it wrote no")) << "the first one is forgotten";
}

TEST_F(JitSharesTest, LargeListsOfAUserDisplaceItsOwn) {
  Start(kFirstOther);
  tree_.Write("root/tmp/perf-5000.map", "1000 10 other\n");
  EXPECT_EQ(NameAt(kFirstOther, 0x1000), "other");
  std::filesystem::remove(MapOf(kFirstOther));
  for (std::uint32_t pid = 100; pid < 140; ++pid) {  // 160 MiB
    Start(pid);
    PutList(pid, "a");
    EXPECT_EQ(NameAt(pid, 0x1000), "a");
  }
  EXPECT_LE(jit_.bytes(), LiveJitSymbols::kMaxBytes);
  EXPECT_GT(jit_.bytes(), LiveJitSymbols::kMaxBytes / 2);
  EXPECT_EQ(NameAt(kFirstOther, 0x1000), "other");
}

// A reader that never answers costs the thread its patience each time.
TEST(JitLateTest, AListThatDoesNotAnswerIsRequestedOnceASecond) {
  class CountingLate : public test::LateReaders {
   public:
    Result<std::string> Ask(const reader::ReaderRequest& request,
                            std::chrono::milliseconds patience) override {
      ++requested;
      return test::LateReaders::Ask(request, patience);
    }
    int requested = 0;
  } readers;
  test::ManualClock clock;
  JitShares shares(clock);
  LiveJitSymbols jit(readers, clock, shares, [](std::uint32_t) { return kHostile; });
  for (int round = 0; round < 500; ++round) {  // 500 processes of one user within 10 s
    clock.Set(1 + round * kRoundNs, 0);
    EXPECT_FALSE(jit.Find(100 + static_cast<std::uint32_t>(round), 0x1000));
  }
  constexpr auto kCost = JitShares::kOfProcess.per_second;
  constexpr auto kMost = (JitShares::kOfUser.at_once + 10 * JitShares::kOfUser.per_second) / kCost;
  EXPECT_GT(readers.requested, 0);
  EXPECT_LE(readers.requested, static_cast<int>(kMost) + 1);
}

}  // namespace
}  // namespace profd::symbolize
