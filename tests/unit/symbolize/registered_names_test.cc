// Names of what this program registers for debuggers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include "daemon/symbolize/live/host_symbolizer.h"
#include "daemon/symbolize/live/jit_symbols.h"
#include "tests/support/direct_reader.h"
#include "tests/support/manual_clock.h"
#include "tests/support/registered/registered_code.h"
#include "tests/unit/symbolize/fake_objects.h"

namespace profd::symbolize {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::uint64_t kOffset = 0x1000;
constexpr std::uint64_t kCode = 0x7f0000000000 + kOffset;

std::string Object(const std::string& function, std::uint64_t code = kCode) {
  test::RegisteredPlan plan;
  plan.code = code;
  plan.code_bytes = 0x40;
  plan.functions = {{function, 0, 0x20}};
  return test::MakeRegistered(plan);
}

class RegisteredNamesTest : public ::testing::Test {
 protected:
  RegisteredNamesTest() { clock_.Set(1, 0); }
  static std::uint32_t Pid() { return static_cast<std::uint32_t>(::getpid()); }
  std::string NameAt(std::uint64_t address) {
    const auto symbol = jit_.Find(Pid(), address);
    return symbol ? std::string(symbol->name) : symbol.error().message;
  }
  void Wait() { clock_.Set(clock_.MonotonicNs() + LiveJitSymbols::kRecheckNs, 0); }

  test::DebuggerList debuggers_;
  test::ManualClock clock_;
  test::DirectReaders readers_{std::make_unique<JitParser>()};
  JitShares shares_{clock_};
  LiveJitSymbols jit_{readers_, clock_, shares_};
};

TEST_F(RegisteredNamesTest, WhatIsRegisteredHasNames) {
  const std::string object = Object("f");
  debuggers_.Add(object);
  EXPECT_EQ(NameAt(kCode), "f");
  EXPECT_EQ(NameAt(kCode + 0x1f), "f");
  EXPECT_THAT(NameAt(kCode + 0x20),
              StartsWith("none of the 1 objects that the program registered"));
  EXPECT_THAT(NameAt(kCode + 0x40),
              StartsWith("none of the 1 objects that the program registered"));
  EXPECT_TRUE(jit_.Find(Pid(), kCode)->registered);
  EXPECT_EQ(jit_.counters().lists.value(), 1u);
  EXPECT_EQ(jit_.counters().objects.value(), 1u);
  EXPECT_GT(jit_.bytes(), 0u);
}

TEST_F(RegisteredNamesTest, FollowsTheList) {
  std::string first = Object("f");
  const std::string second = Object("g", kCode + 0x1000);
  debuggers_.Add(first);
  EXPECT_EQ(NameAt(kCode), "f");
  debuggers_.Add(second);
  EXPECT_NE(NameAt(kCode + 0x1000), "g") << "not looked at again yet";
  Wait();
  EXPECT_EQ(NameAt(kCode + 0x1000), "g");
  EXPECT_EQ(NameAt(kCode), "f");
  EXPECT_EQ(jit_.counters().objects.value(), 2u) << "each object is read once";
  debuggers_.RemoveFirst();
  Wait();
  EXPECT_NE(NameAt(kCode + 0x1000), "g");
  EXPECT_EQ(NameAt(kCode), "f");
}

TEST_F(RegisteredNamesTest, OfTwoAtOnePlaceTheNewOneStands) {
  const std::string old = Object("old");
  const std::string added = Object("added", kCode + 0x10);
  debuggers_.Add(old);
  debuggers_.Add(added);
  EXPECT_EQ(NameAt(kCode + 0x10), "added");
  EXPECT_THAT(NameAt(kCode), StartsWith("none of the 2 objects"));
}

TEST_F(RegisteredNamesTest, FramesSayWhereTheirNamesAreFrom) {
  const std::string object = Object("_ZN4made5outerEPFvvE");
  debuggers_.Add(object);
  testing::TableSource objects;
  ReplayKernelSymbols kernel;
  HostSymbolizer host(kernel, objects, &jit_);
  auto module = std::make_shared<process::Module>();
  module->first_pid = Pid();
  std::vector<Frame> frames;
  host.Resolve(testing::UserAddress(module, kOffset + 8), Detail::kSource, frames);
  host.Resolve(testing::UserAddress(module, kOffset + 0x40), Detail::kSource, frames);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].kind, FrameKind::kJit);
  EXPECT_EQ(frames[0].name, "made::outer");
  EXPECT_EQ(frames[0].full_name, "made::outer(void (*)())");
  EXPECT_EQ(frames[0].symbol, "_ZN4made5outerEPFvvE");
  ASSERT_NE(frames[0].origin, nullptr);
  EXPECT_EQ(frames[0].origin->symbols_from, "gdb jit");
  EXPECT_EQ(frames[1].name, "");
  EXPECT_THAT(frames[1].reason, HasSubstr("none of the 1 objects"));
  EXPECT_EQ(frames[1].origin, nullptr);
}

TEST_F(RegisteredNamesTest, ARecordingAnswersTheSame) {
  const std::string object = Object("f");
  debuggers_.Add(object);
  ReplayJitSymbols replay;
  RecordingJitSymbols recording(
      jit_, [&](std::string_view kind, std::string_view key, std::string_view bytes) {
        EXPECT_EQ(kind, kRegisteredBlobKind);
        EXPECT_TRUE(replay.AddRegisteredBlob(key, bytes));
      });
  ASSERT_TRUE(recording.Find(Pid(), kCode + 4));
  recording.Flush();
  const auto symbol = replay.Find(Pid(), kCode + 4);
  ASSERT_TRUE(symbol);
  EXPECT_EQ(symbol->name, "f");
  EXPECT_TRUE(symbol->registered);
}

TEST_F(RegisteredNamesTest, WhatIsLeftOutIsCounted) {
  const std::string object = Object("f");
  test::DebuggerEntry& entry = debuggers_.Add(object);
  entry.next = &entry;
  EXPECT_EQ(NameAt(kCode), "f");
  EXPECT_EQ(jit_.counters().left_out.value(), 1u);
}

// Answers all but the first `late` requests for an object.
class LateForObjects : public reader::Readers {
 public:
  Result<std::string> Ask(const reader::ReaderRequest& request,
                          std::chrono::milliseconds patience) override {
    constexpr char kObject = 3;  // JitParser's verb
    if (request.body.front() != kObject) return readers_.Ask(request, patience);
    return ++objects > late ? readers_.Ask(request, patience)
                            : Error{ErrorCode::kUnavailable, "is being read", ""};
  }
  bool IsHeldBy(std::uint64_t /*target*/) const override { return false; }

  int late = 0;
  int objects = 0;

 private:
  test::DirectReaders readers_{std::make_unique<JitParser>()};
};

TEST(RegisteredNamesLate, EachLookWaitsOnce) {
  const std::string object = Object("f");
  test::DebuggerList debuggers;
  debuggers.Add(object);
  test::ManualClock clock;
  clock.Set(1, 0);
  LateForObjects readers;
  readers.late = 2;
  JitShares shares(clock);
  LiveJitSymbols jit(readers, clock, shares);
  const auto pid = static_cast<std::uint32_t>(::getpid());
  for (const int requests : {1, 2, 3}) {
    for (int frame = 0; frame < 5; ++frame) EXPECT_EQ(jit.Find(pid, kCode).ok(), requests == 3);
    EXPECT_EQ(readers.objects, requests);
    clock.Set(clock.MonotonicNs() + LiveJitSymbols::kRecheckNs, 0);
  }
}

TEST(RegisteredNamesBounds, NamesBeyondTheBoundAreReadAgain) {
  elf::RegisteredList list;
  list.stamp = 1;
  list.objects = {{{0x1000, 0x100, 1}, {{0x10'0000, 0x20'0000}}},
                  {{0x2000, 0x100, 2}, {{0x30'0000, 0x40'0000}}}};
  RegisteredNames names;
  names.Take(list);
  for (const std::uint64_t address : {0x10'0000, 0x30'0000}) {
    RegisteredNames::Object* object = names.Find(address);
    ASSERT_NE(object, nullptr);
    for (std::uint64_t i = 0; object->names.bytes() < RegisteredNames::kMaxBytes * 2 / 3; ++i)
      object->names.Add(address + i, 1, std::string(4'000, 'x'));
    object->is_read = true;
    names.KeepBounds(*object);
  }
  EXPECT_LE(names.bytes(), RegisteredNames::kMaxBytes);
  EXPECT_FALSE(names.Find(0x10'0000)->is_read);
  EXPECT_TRUE(names.Find(0x30'0000)->is_read);
  EXPECT_EQ(names.Find(0x20'0000), nullptr);
}

}  // namespace
}  // namespace profd::symbolize
