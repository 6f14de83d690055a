#include "daemon/symbolize/live/jit_symbols.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "daemon/symbolize/live/host_symbolizer.h"
#include "tests/support/direct_reader.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/symbolize/fake_objects.h"

namespace profd::symbolize {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Process 70 of the tree, which is 7 in its own namespace, and its root.
class JitSymbolsTest : public ::testing::Test {
 protected:
  JitSymbolsTest() {
    clock_.Set(1, 0);
    Start(100);
    const std::string self = std::to_string(::geteuid()) + "\t";
    const std::string group = std::to_string(::getegid()) + "\t";
    tree_.Write("proc/70/status", "Name:\tnode\nNSpid:\t70\t7\nUid:\t" + self + self + self + self +
                                      "\nGid:\t" + group + group + group + group + "\nGroups:\t\n");
    tree_.Write("root/tmp/keep", "");
    tree_.Link("proc/70/root", tree_.Path("root"));
  }
  void Start(int ticks) {
    std::string stat = "70 (no (de)) S";
    for (int field = 4; field < 22; ++field) stat += " 0";
    tree_.Write("proc/70/stat", stat + " " + std::to_string(ticks) + " 0\n");
  }
  void Append(const std::string& text) {
    std::ofstream(tree_.Path("root/tmp/perf-7.map"), std::ios::app) << text;
  }
  std::string NameAt(std::uint64_t address) {
    const auto symbol = jit_.Find(70, address);
    return symbol ? std::string(symbol->name) : symbol.error().message;
  }
  void Wait() { clock_.Set(clock_.MonotonicNs() + LiveJitSymbols::kRecheckNs, 0); }

  test::TempFolder tree_;
  test::ManualClock clock_;
  test::DirectReaders readers_{std::make_unique<JitParser>(), ProcFs(tree_.Path("proc"))};
  JitShares shares_{clock_};
  LiveJitSymbols jit_{readers_, clock_, shares_};
};

TEST_F(JitSymbolsTest, SaysWhichFileIsMissing) {
  EXPECT_THAT(NameAt(0x1000), StartsWith("it wrote no /tmp/perf-7.map: node does with "));
  Wait();
  Append("1000 10 f\n");
  EXPECT_EQ(NameAt(0x1000), "f");
  EXPECT_EQ(NameAt(0x2000), "/tmp/perf-7.map does not list it");
}

TEST_F(JitSymbolsTest, LooksEverLessOftenForAFileThatIsNotThere) {
  const std::string missing = NameAt(0x1000);
  for (int look = 0; look < 3; ++look) {  // searched at 20 and at 60 ms, then not before 140
    Wait();
    EXPECT_EQ(NameAt(0x1000), missing);
  }
  Append("1000 10 f\n");
  Wait();
  EXPECT_EQ(NameAt(0x1000), missing);
  clock_.Set(clock_.MonotonicNs() + LiveJitSymbols::kLongestSearchNs, 0);
  EXPECT_EQ(NameAt(0x1000), "f");
  Append("2000 10 g\n");
  Wait();
  EXPECT_EQ(NameAt(0x2000), "g") << "of one that is there, what is new is read as often as ever";
}

TEST_F(JitSymbolsTest, ReadsWhatIsNewWhenTheFileGrows) {
  Append("1000 10 f\n20");
  EXPECT_EQ(NameAt(0x1000), "f");
  Append("00 10 g\n1000 10 h\n");
  EXPECT_EQ(NameAt(0x1000), "f") << "not looked at again yet";
  Wait();
  EXPECT_EQ(NameAt(0x2000), "g");
  EXPECT_EQ(NameAt(0x1000), "h");
}

TEST_F(JitSymbolsTest, AnotherProcessOfThatPidHasItsOwn) {
  Append("1000 10 f\n");
  EXPECT_EQ(NameAt(0x1000), "f");
  std::filesystem::remove(tree_.Path("root/tmp/perf-7.map"));
  Wait();
  EXPECT_EQ(NameAt(0x1000), "f") << "the file may go, the code stays";
  Start(200);
  clock_.Set(clock_.MonotonicNs() + LiveJitSymbols::kLongestSearchNs, 0);
  EXPECT_THAT(NameAt(0x1000), StartsWith("it wrote no /tmp/perf-7.map: node does with "));
}

TEST_F(JitSymbolsTest, ALinkIsNotFollowed) {
  tree_.Write("root/other", "1000 10 f\n");
  tree_.Link("root/tmp/perf-7.map", "/other");
  EXPECT_NE(NameAt(0x1000), "f");
}

TEST_F(JitSymbolsTest, FramesAreOfTheirOwnKind) {
  Append("7f0000001000 10 LazyCompile:*work\n");
  testing::TableSource objects;
  ReplayKernelSymbols kernel;
  HostSymbolizer host(kernel, objects, &jit_);
  auto module = std::make_shared<process::Module>();
  module->first_pid = 70;
  std::vector<Frame> frames;
  host.Resolve(testing::UserAddress(module, 0x1008), Detail::kSource, frames);
  host.Resolve(testing::UserAddress(module, 0x1010, true), Detail::kSource, frames);
  host.Resolve(testing::UserAddress(module, 0x1010), Detail::kSource, frames);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0].kind, FrameKind::kJit);
  EXPECT_EQ(frames[0].name, "LazyCompile:*work");
  EXPECT_EQ(frames[1].name, "LazyCompile:*work") << "a return address belongs to the byte before";
  EXPECT_THAT(frames[2].reason, HasSubstr("/tmp/perf-7.map does not list it"));
}

TEST_F(JitSymbolsTest, ARecordingAnswersTheSame) {
  Append("1000 10 f with spaces\n");
  ReplayJitSymbols replay;
  RecordingJitSymbols recording(
      jit_, [&](std::string_view kind, std::string_view key, std::string_view bytes) {
        EXPECT_EQ(kind, kJitBlobKind);
        EXPECT_TRUE(replay.AddBlob(key, bytes));
      });
  ASSERT_TRUE(recording.Find(70, 0x1004));
  recording.Flush();
  const auto symbol = replay.Find(70, 0x1004);
  ASSERT_TRUE(symbol);
  EXPECT_EQ(symbol->name, "f with spaces");
  EXPECT_FALSE(replay.Find(71, 0x1004));
  EXPECT_FALSE(replay.AddBlob("x", ""));
}

TEST_F(JitSymbolsTest, ARecordingHasASymbolOnceAndOneThatTakesItsPlace) {
  std::string recorded;
  RecordingJitSymbols recording(
      jit_, [&](std::string_view, std::string_view, std::string_view bytes) { recorded += bytes; });
  Append("1000 10 f\n");
  ASSERT_TRUE(recording.Find(70, 0x1004));
  ASSERT_TRUE(recording.Find(70, 0x1008));
  recording.Flush();
  ASSERT_TRUE(recording.Find(70, 0x1004));
  recording.Flush();
  EXPECT_EQ(recorded, "1000 10 f\n");
  Append("1000 10 g\n");
  Wait();
  ASSERT_TRUE(recording.Find(70, 0x1004));
  recording.Flush();
  EXPECT_EQ(recorded, "1000 10 f\n1000 10 g\n");
}

}  // namespace
}  // namespace profd::symbolize
