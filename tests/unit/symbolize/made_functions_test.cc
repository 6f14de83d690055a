// Functions in code that a process has made and lists nowhere: in this process's own memory.
#include "daemon/symbolize/live/made_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/files.h"
#include "daemon/reader/message.h"
#include "daemon/symbolize/live/host_symbolizer.h"
#include "daemon/symbolize/live/jit_symbols.h"
#include "tests/support/direct_reader.h"
#include "tests/support/manual_clock.h"
#include "tests/unit/symbolize/fake_objects.h"

namespace profd::symbolize {
namespace {

using ::testing::HasSubstr;
using unwind::CodeRange;

constexpr std::uint64_t kPage = 4'096;
constexpr std::string_view kFunction("\x53\x31\xc0\x5b\xc3", 5);     // push, xor, pop, ret
constexpr std::string_view kMarked("\xf3\x0f\x1e\xfa\x31\xc0\xc3");  // endbr64, xor, ret
constexpr std::string_view kUnbalanced("\x53\x31\xc0\xc3");          // it does not pop

// Three pages, of which the first two can be executed.
class MadeFunctionsTest : public ::testing::Test {
 protected:
  MadeFunctionsTest()
      : pages_(static_cast<char*>(::mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    clock_.Set(1, 0);
  }
  ~MadeFunctionsTest() override { ::munmap(pages_, 3 * kPage); }
  MadeFunctionsTest(const MadeFunctionsTest&) = delete;
  MadeFunctionsTest& operator=(const MadeFunctionsTest&) = delete;

  void Put(std::uint64_t offset, std::string_view code) {
    std::memcpy(pages_ + offset, code.data(), code.size());
  }
  void Protect(int how = PROT_READ | PROT_EXEC) {
    ASSERT_EQ(::mprotect(pages_, 2 * kPage, how), 0);
  }
  [[nodiscard]] std::uint64_t At(std::uint64_t offset) const {
    return reinterpret_cast<std::uintptr_t>(pages_) + offset;
  }
  // "": the address has no name.
  [[nodiscard]] std::string NameAt(std::uint64_t offset) {
    const auto symbol = jit_.Find(Pid(), At(offset));
    return symbol ? std::string(symbol->name) : "";
  }
  [[nodiscard]] std::string Expected(std::uint64_t begin) const {
    return "[code made at run time]!fn_" + HexNumber(At(begin)).substr(2);
  }
  [[nodiscard]] static std::uint32_t Pid() { return static_cast<std::uint32_t>(::getpid()); }
  void Wait(std::uint64_t ns) { clock_.Set(clock_.MonotonicNs() + ns, 0); }

  char* const pages_;
  test::ManualClock clock_;
  test::DirectReaders readers_{std::make_unique<JitParser>()};
  JitShares shares_{clock_};
  LiveJitSymbols jit_{readers_, clock_, shares_};
};

TEST_F(MadeFunctionsTest, AFunctionIsOneAtEachOfItsAddresses) {
  Put(0, kFunction);
  Put(0x40, kMarked);
  Put(kPage, kFunction);
  ASSERT_NO_FATAL_FAILURE(Protect());
  for (std::uint64_t at = 0; at < kFunction.size(); ++at) {
    EXPECT_EQ(NameAt(at), Expected(0));
    EXPECT_EQ(NameAt(kPage + at), Expected(kPage));
  }
  for (std::uint64_t at = 0; at < kMarked.size(); ++at)
    EXPECT_EQ(NameAt(0x40 + at), Expected(0x40));
  EXPECT_EQ(NameAt(kFunction.size()), "") << "behind the function";
  EXPECT_EQ(NameAt(0x80), "");
}

TEST_F(MadeFunctionsTest, WithoutACertainBeginThereIsNoName) {
  Put(0, kUnbalanced);
  Put(0x40, kFunction);  // it may be a part of what is before it
  ASSERT_NO_FATAL_FAILURE(Protect());
  EXPECT_EQ(NameAt(0), "");
  EXPECT_EQ(NameAt(0x40), "");
}

TEST_F(MadeFunctionsTest, OnlyCodeThatTheProcessMayReadIsRead) {
  Put(0, kFunction);
  for (const int how : {PROT_READ, PROT_READ | PROT_WRITE, PROT_EXEC, PROT_NONE}) {
    ASSERT_NO_FATAL_FAILURE(Protect(how));
    EXPECT_EQ(NameAt(0), "") << how;
    Wait(MadeFunctions::kLastNs);
  }
  ASSERT_NO_FATAL_FAILURE(Protect());
  EXPECT_EQ(NameAt(0), Expected(0));
}

TEST_F(MadeFunctionsTest, OldFunctionsGoWithTheirCode) {
  Put(0, kFunction);
  Put(kPage, kFunction);
  ASSERT_NO_FATAL_FAILURE(Protect(PROT_READ | PROT_WRITE | PROT_EXEC));
  EXPECT_EQ(NameAt(1), Expected(0));
  Put(0, std::string(kFunction.size(), '\0'));
  Put(0x40, kMarked);
  EXPECT_EQ(NameAt(1), Expected(0)) << "not compared yet";
  Wait(MadeFunctions::kFirstNs);
  EXPECT_EQ(NameAt(1), "");
  EXPECT_EQ(NameAt(0x41), Expected(0x40));
  EXPECT_EQ(NameAt(kPage), Expected(kPage));
}

TEST_F(MadeFunctionsTest, NewCodeIsFoundWithinASecond) {
  Put(0, kFunction);
  ASSERT_NO_FATAL_FAILURE(Protect(PROT_READ | PROT_WRITE | PROT_EXEC));
  for (int i = 0; i < 20; ++i) {  // by then it is compared each 16 s
    EXPECT_EQ(NameAt(0), Expected(0));
    Wait(MadeFunctions::kLastNs);
  }
  EXPECT_EQ(NameAt(0), Expected(0));
  Put(kPage, kFunction);
  Wait(MadeFunctions::kMissedNs);
  EXPECT_EQ(NameAt(kPage), Expected(kPage));
}

TEST_F(MadeFunctionsTest, FramesKeepTheReason) {
  Put(0, kFunction);
  ASSERT_NO_FATAL_FAILURE(Protect());
  testing::TableSource objects;
  ReplayKernelSymbols kernel;
  HostSymbolizer host(kernel, objects, &jit_);
  process::AddressFrame address;
  auto module = std::make_shared<process::Module>();
  module->first_pid = Pid();
  address.module = module;
  address.address = At(kFunction.size());
  address.file_offset = address.address;
  address.return_address = true;
  std::vector<Frame> frames;
  host.Resolve(address, Detail::kSource, frames);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].kind, FrameKind::kNative);
  EXPECT_EQ(frames[0].name, Expected(0));
  EXPECT_THAT(frames[0].reason, HasSubstr("code made at run time? (it wrote no /tmp/perf-"));
  EXPECT_TRUE(Symbolizer::MayChange(address, frames[0]));
}

TEST_F(MadeFunctionsTest, ARecordingAnswersTheSame) {
  Put(0, kFunction);
  ASSERT_NO_FATAL_FAILURE(Protect());
  ReplayJitSymbols replay;
  RecordingJitSymbols recording(
      jit_, [&](std::string_view kind, std::string_view key, std::string_view bytes) {
        EXPECT_EQ(kind, kMadeBlobKind);
        EXPECT_TRUE(replay.AddMadeBlob(key, bytes));
      });
  ASSERT_TRUE(recording.Find(Pid(), At(1)));
  recording.Flush();
  const auto symbol = replay.Find(Pid(), At(2));
  ASSERT_TRUE(symbol);
  EXPECT_EQ(symbol->name, Expected(0));
  EXPECT_TRUE(symbol->by_place);
}

// What a reader process that a hostile target has taken over may answer.
TEST(MadeFunctionsAnswers, NonsenseIsRefused) {
  constexpr std::uint64_t kAddress = 0x7f00'0001'0000;
  const auto answer = [](const std::vector<CodeRange>& functions) {
    reader::Packer fields;
    fields.Number(std::uint64_t{1}).Number(std::uint64_t{1}).Number(true).Number(std::uint64_t{7});
    fields.Number(static_cast<std::uint32_t>(functions.size()));
    for (const CodeRange& function : functions) fields.Plain(function);
    return UnpackMadeWindow(fields.Take(), kAddress);
  };
  const std::uint64_t end = kAddress + MadeWindow::kBytes;
  EXPECT_TRUE(answer({}));
  EXPECT_TRUE(answer({{kAddress - 8, kAddress + 8}, {kAddress + 8, end + 8}}));
  EXPECT_FALSE(answer({{kAddress, kAddress}})) << "empty";
  EXPECT_FALSE(answer({{kAddress + 8, kAddress}})) << "ends before it begins";
  EXPECT_FALSE(answer({{kAddress, kAddress + 8}, {kAddress + 4, end}})) << "overlap";
  EXPECT_FALSE(answer({{kAddress - 8, kAddress}})) << "before the window";
  EXPECT_FALSE(answer({{end, end + 8}})) << "behind the window";
  EXPECT_FALSE(answer({{0, end}})) << "far before it";
  EXPECT_FALSE(answer({{kAddress, ~std::uint64_t{0}}})) << "far behind it";
  EXPECT_FALSE(answer(std::vector<CodeRange>(MadeWindow::kMaxFunctions + 1)));
  EXPECT_FALSE(UnpackMadeWindow("x", kAddress));
}

TEST(MadeFunctionsBounds, WindowsUsedLongestAgoGo) {
  MadeFunctions made;
  MadeWindow window;
  for (std::uint64_t i = 0; i < MadeWindow::kMaxFunctions; ++i)
    window.functions.push_back({8 * i, 8 * i + 8});
  for (std::uint64_t i = 0; i < 1'000; ++i) made.Take(i * MadeWindow::kBytes, window, 1);
  EXPECT_LE(made.bytes(), MadeFunctions::kMaxBytes);
  EXPECT_TRUE(made.IsDue(0, 1));
  EXPECT_FALSE(made.IsDue(999 * MadeWindow::kBytes, 1));
}

}  // namespace
}  // namespace profd::symbolize
