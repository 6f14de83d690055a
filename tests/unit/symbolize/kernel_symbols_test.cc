#include "daemon/symbolize/live/kernel_symbols.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace profd::symbolize {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

std::string Describe(const Result<KernelSymbol>& symbol) {
  if (!symbol) return "(" + symbol.error().message + ")";
  return std::string(symbol->name) + " " + std::string(symbol->module);
}

class KernelSymbolsTest : public ::testing::Test {
 protected:
  KernelSymbolsTest() { clock_.Set(100 * kSecond, 0); }
  void Write(const std::string& kallsyms) const { folder_.Write("kallsyms", kallsyms); }
  void Advance(std::uint64_t ns) { clock_.Set(clock_.MonotonicNs() + ns, 0); }

  test::TempFolder folder_;
  const std::string proc_ = folder_.path();
  test::ManualClock clock_;
};

constexpr char kKernel[] = "ffffffff81000000 T schedule\nffffffff81001000 T _etext\n";
constexpr char kProgram[] = "ffffffffc0000000 t bpf_prog_1_a\t[bpf]\n";

TEST_F(KernelSymbolsTest, ReadOnceAndAgainForAnAddressItDoesNotHold) {
  Write(kKernel);
  LiveKernelSymbols symbols{ProcFs(proc_), clock_};
  EXPECT_EQ(symbols.reads(), 0u);
  EXPECT_EQ(Describe(symbols.Find(0xffffffff81000004)), "schedule [kernel]");
  EXPECT_EQ(Describe(symbols.Find(0xffffffff81000008)), "schedule [kernel]");
  EXPECT_EQ(symbols.reads(), 1u);

  Write(std::string(kKernel) + kProgram);
  EXPECT_EQ(Describe(symbols.Find(0xffffffffc0000010)), "(no kernel symbol covers this address)")
      << "too soon after the last time";
  Advance(LiveKernelSymbols::kRefreshNs);
  EXPECT_EQ(Describe(symbols.Find(0xffffffffc0000010)), "bpf_prog_1_a [bpf]");
  EXPECT_EQ(symbols.reads(), 2u);
}

TEST_F(KernelSymbolsTest, ReadAheadAndAgainForTheFirstThatCameSince) {
  Write(kKernel);
  LiveKernelSymbols symbols{ProcFs(proc_), clock_};
  symbols.Prepare();
  symbols.Prepare();
  EXPECT_EQ(Describe(symbols.Find(0xffffffff81000004)), "schedule [kernel]");
  EXPECT_EQ(symbols.reads(), 1u);
  Write(std::string(kKernel) + kProgram);
  EXPECT_EQ(Describe(symbols.Find(0xffffffffc0000010)), "bpf_prog_1_a [bpf]");
  EXPECT_FALSE(symbols.Find(0xffffffffd0000000));
  EXPECT_EQ(symbols.reads(), 2u);
}

TEST_F(KernelSymbolsTest, UnknownAddressesDoNotKeepItBusy) {
  Write(kKernel);
  LiveKernelSymbols symbols{ProcFs(proc_), clock_};
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(symbols.Find(0xffffffffd0000000));
    Advance(kSecond / 10);
  }
  EXPECT_LE(symbols.reads(), 1 + 100 * kSecond / LiveKernelSymbols::kRefreshNs);
}

TEST_F(KernelSymbolsTest, SaysWhyThereAreNone) {
  LiveKernelSymbols missing{ProcFs(proc_), clock_};
  EXPECT_EQ(Describe(missing.Find(1)),
            "(cannot open " + proc_ + "/kallsyms: no such file or directory)");
  Write("0000000000000000 T schedule\n");
  LiveKernelSymbols hidden{ProcFs(proc_), clock_};
  EXPECT_EQ(Describe(hidden.Find(1)),
            "(kernel addresses are hidden: needs CAP_SYSLOG or kernel.kptr_restrict=0)");
  Write(kKernel);
  Advance(LiveKernelSymbols::kRefreshNs);
  EXPECT_EQ(Describe(hidden.Find(0xffffffff81000004)), "schedule [kernel]") << "allowed meanwhile";
}

TEST_F(KernelSymbolsTest, WhatWasKnownStaysWhenTheFileCannotBeRead) {
  Write(kKernel);
  LiveKernelSymbols symbols{ProcFs(proc_), clock_};
  EXPECT_TRUE(symbols.Find(0xffffffff81000004));
  std::filesystem::remove(proc_ + "/kallsyms");
  Advance(LiveKernelSymbols::kRefreshNs);
  EXPECT_FALSE(symbols.Find(0xffffffffc0000010));
  EXPECT_EQ(symbols.reads(), 2u);
  EXPECT_EQ(Describe(symbols.Find(0xffffffff81000004)), "schedule [kernel]");
}

TEST_F(KernelSymbolsTest, AReplayAnswersAlike) {
  Write(std::string(kKernel) + kProgram);
  LiveKernelSymbols live{ProcFs(proc_), clock_};
  std::vector<std::string> blobs;
  RecordingKernelSymbols recording(
      live, [&](std::string_view kind, std::string_view key, std::string_view bytes) {
        EXPECT_EQ(kind, "kallsyms");
        EXPECT_EQ(key, "");
        blobs.emplace_back(bytes);
      });
  std::map<std::uint64_t, std::string> requested;
  for (const std::uint64_t address : {0xffffffff81000004, 0xffffffff81000ff0, 0xffffffffc0000010,
                                      0xffffffffe0000000, 0xffffffffe0000001}) {
    requested[address] = Describe(recording.Find(address));
  }
  recording.Flush();
  recording.Flush();
  ASSERT_EQ(blobs.size(), 1u) << "nothing new the second time";
  requested[0xffffffff81001000] = Describe(recording.Find(0xffffffff81001000));
  recording.Flush();
  ASSERT_EQ(blobs.size(), 2u);

  ReplayKernelSymbols replay;
  for (const std::string& blob : blobs) ASSERT_TRUE(replay.AddBlob(blob));
  for (const auto& [address, answer] : requested) EXPECT_EQ(Describe(replay.Find(address)), answer);
}

TEST_F(KernelSymbolsTest, AReplayGivesTheReasonToo) {
  Write("0000000000000000 T schedule\n");
  LiveKernelSymbols live{ProcFs(proc_), clock_};
  std::string blob;
  RecordingKernelSymbols recording(
      live, [&](std::string_view, std::string_view, std::string_view bytes) { blob = bytes; });
  const std::string answer = Describe(recording.Find(0xffffffff81000004));
  recording.Flush();
  ReplayKernelSymbols replay;
  ASSERT_TRUE(replay.AddBlob(blob));
  EXPECT_EQ(Describe(replay.Find(0xffffffff81000004)), answer);
}

TEST_F(KernelSymbolsTest, DamagedRecordsAreRefused) {
  for (const char* blob : {"nonsense\n", "ff 10 [kernel] backwards\n", "10 20 [kernel]\n", "\n"}) {
    ReplayKernelSymbols replay;
    EXPECT_FALSE(replay.AddBlob(blob)) << blob;
  }
}

}  // namespace
}  // namespace profd::symbolize
