#include "daemon/symbolize/sample/sample_symbolizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bpf/shared/events.h"
#include "tests/unit/symbolize/fake_objects.h"

namespace profd::symbolize {
namespace {

using ::testing::ElementsAre;
using testing::KernelAddress;
using testing::MakeModule;
using testing::UserAddress;

// Names by address; "a>b" is b inlined into a.
class TableSymbolizer : public Symbolizer {
 public:
  void Resolve(const process::AddressFrame& address, Detail wanted,
               std::vector<Frame>& frames) override {
    ++requested;
    detail = wanted;
    std::string name = names[address.file_offset];
    if (const auto inlined = name.find('>'); inlined != std::string::npos) {
      Frame& frame = frames.emplace_back();
      frame.inlined = true;
      frame.name = name.substr(inlined + 1);
      name.resize(inlined);
    }
    Frame& frame = frames.emplace_back();
    frame.kind = address.kernel ? FrameKind::kKernel : FrameKind::kNative;
    frame.name = name;
    if (name.empty()) frame.reason = "unknown";
  }
  std::map<std::uint64_t, std::string> names;
  int requested = 0;
  Detail detail = Detail::kSymbols;
};

class SampleSymbolizerTest : public ::testing::Test {
 protected:
  // A stack given leaf first; names that begin with "k:" are kernel frames.
  process::Sample Stack(process::State state, const std::vector<std::string>& names) {
    process::Sample sample;
    sample.state = state;
    for (const std::string& name : names) {
      const bool kernel = name.starts_with("k:");
      const auto [entry, added] = addresses_.try_emplace(name, 0x1000 + addresses_.size());
      symbols_.names[entry->second] = kernel ? name.substr(2) : name;
      sample.frames.push_back(kernel ? KernelAddress(entry->second)
                                     : UserAddress(module_, entry->second));
    }
    return sample;
  }
  std::vector<std::string> NamesOf(const SymbolizedSample& sample) {
    std::vector<std::string> names;
    for (const FrameId id : sample.frames) names.push_back(table_.At(id).name);
    return names;
  }

  std::map<std::string, std::uint64_t> addresses_;
  const process::ModuleRef module_ = MakeModule("/a");
  TableSymbolizer symbols_;
  FrameTable table_;
  SampleSymbolizer symbolizer_{symbols_, table_};
};

using process::State;

TEST_F(SampleSymbolizerTest, NamesEachFrameAndKeepsTheRest) {
  process::Sample sample = Stack(State::kOnCpu, {"leaf", "caller", "main"});
  sample.time_ns = 17;
  sample.thread = {42, 7};
  const SymbolizedSample symbolized = symbolizer_.Symbolize(std::move(sample));
  EXPECT_THAT(NamesOf(symbolized), ElementsAre("leaf", "caller", "main"));
  EXPECT_EQ(symbolized.sample.time_ns, 17u);
  EXPECT_EQ(symbolized.sample.thread, (ThreadKey{42, 7}));
  EXPECT_TRUE(symbolized.sample.frames.empty());
}

TEST_F(SampleSymbolizerTest, AStackThatEndsEarlySaysWhy) {
  const auto ending = [&](std::uint16_t flags, std::uint64_t missing_bytes) {
    process::Sample sample = Stack(process::State::kOnCpu, {"leaf", "main"});
    sample.stack_flags = flags;
    sample.missing_stack_bytes = missing_bytes;
    const SymbolizedSample symbolized = symbolizer_.Symbolize(std::move(sample));
    if (symbolized.frames.size() == 2) return std::string();
    const Frame& last = table_.At(symbolized.frames.back());
    EXPECT_EQ(last.kind, FrameKind::kPseudo);
    return last.name;
  };
  EXPECT_EQ(ending(0, 0), "");
  EXPECT_EQ(ending(PROFD_STACK_COMPLETE | PROFD_STACK_UNCERTAIN, 0), "");
  EXPECT_EQ(ending(PROFD_STACK_TABLES_NOT_READY, 4'000), "[tables not ready]");
  EXPECT_EQ(ending(PROFD_STACK_USER_TRUNCATED, 100'000),
            "[stack truncated: up to 128 KiB missing]");
  EXPECT_EQ(ending(PROFD_STACK_USER_TRUNCATED, 1 << 30),
            "[stack truncated: more than 1 MiB missing]");
  EXPECT_EQ(ending(PROFD_STACK_USER_FAULT, 0), "[stack memory not readable]");
}

TEST_F(SampleSymbolizerTest, KnowsFromWhichFrameOnAStackIsUncertain) {
  process::Sample sample = Stack(State::kOnCpu, {"leaf", "caller", "main"});
  EXPECT_FALSE(symbolizer_.Symbolize(sample).uncertain_from);
  sample.frames[1].uncertain = sample.frames[2].uncertain = true;
  EXPECT_EQ(symbolizer_.Symbolize(sample).uncertain_from, 1u);
}

process::AddressFrame PythonFrame(const process::PythonFunctionRef& function, std::uint32_t line) {
  process::AddressFrame frame;
  frame.python = function;
  frame.line = line;
  return frame;
}

TEST_F(SampleSymbolizerTest, PythonFramesAreNamedByTheirFunction) {
  const auto function = std::make_shared<process::PythonFunction>(
      process::PythonFunction{"Net.forward", "/x/net.py"});
  process::Sample sample = Stack(State::kOnCpu, {"leaf", "eval"});
  sample.frames[1].interpreter = true;
  sample.frames.insert(sample.frames.begin() + 1,
                       {PythonFrame(function, 12), PythonFrame(function, 7)});
  const SymbolizedSample symbolized = symbolizer_.Symbolize(std::move(sample));
  ASSERT_THAT(NamesOf(symbolized), ElementsAre("leaf", "Net.forward", "Net.forward", "eval"));
  const Frame& inner = table_.At(symbolized.frames[1]);
  EXPECT_EQ(inner.kind, FrameKind::kPython);
  EXPECT_EQ(inner.file, "/x/net.py");
  EXPECT_EQ(inner.line, 12u);
  EXPECT_EQ(table_.At(symbolized.frames[2]).line, 7u);
  EXPECT_TRUE(table_.At(symbolized.frames[3]).interpreter);
  EXPECT_FALSE(table_.At(symbolized.frames[0]).interpreter);

  // The same code on a thread without Python frames is not hidden.
  const SymbolizedSample native = symbolizer_.Symbolize(Stack(State::kOnCpu, {"leaf", "eval"}));
  EXPECT_FALSE(table_.At(native.frames[1]).interpreter);
}

TEST_F(SampleSymbolizerTest, PythonFramesWithoutAPlaceStandAboveAMark) {
  const auto function =
      std::make_shared<process::PythonFunction>(process::PythonFunction{"f", "x.py"});
  process::Sample sample = Stack(State::kOnCpu, {"leaf", "main"});
  sample.unmerged_python = {PythonFrame(function, 1)};
  sample.merge_failed = true;
  EXPECT_THAT(NamesOf(symbolizer_.Symbolize(std::move(sample))),
              ElementsAre("f", "[merge=failed]", "leaf", "main"));

  // Where they are is not known.
  sample = Stack(State::kOnCpu, {"leaf", "main"});
  sample.merge_failed = true;
  EXPECT_THAT(NamesOf(symbolizer_.Symbolize(std::move(sample))),
              ElementsAre("[merge=failed]", "leaf", "main"));
}

TEST_F(SampleSymbolizerTest, AsksOnceForAnAddress) {
  for (int i = 0; i < 5; ++i)
    (void)symbolizer_.Symbolize(Stack(State::kOnCpu, {"leaf", "caller", "leaf"}));
  EXPECT_EQ(symbols_.requested, 2);
  EXPECT_EQ(symbolizer_.counters().samples.value(), 5u);
  EXPECT_EQ(symbolizer_.counters().frames.value(), 15u);
  EXPECT_EQ(symbolizer_.counters().looked_up.value(), 2u);
}

TEST_F(SampleSymbolizerTest, AsksAgainForCodeInMemoryUntilItHasANameOfItsProgram) {
  process::Sample sample;
  sample.frames.push_back(UserAddress(MakeModule("/memfd:program"), 0x10));
  for (int i = 0; i < 2; ++i) (void)symbolizer_.Symbolize(sample);
  EXPECT_EQ(symbols_.requested, 2);
  symbols_.names[0x10] = "main";
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(NamesOf(symbolizer_.Symbolize(sample)), ElementsAre("main"));
  EXPECT_EQ(symbols_.requested, 3);
}

TEST_F(SampleSymbolizerTest, AsksAgainForMoreDetail) {
  for (const Detail detail : {Detail::kSymbols, Detail::kSource}) {
    for (int i = 0; i < 2; ++i) (void)symbolizer_.Symbolize(Stack(State::kOnCpu, {"leaf"}), detail);
    EXPECT_EQ(symbols_.detail, detail);
  }
  EXPECT_EQ(symbols_.requested, 2);
}

TEST_F(SampleSymbolizerTest, InlinedFramesStandInside) {
  EXPECT_THAT(NamesOf(symbolizer_.Symbolize(Stack(State::kOnCpu, {"f>g", "main"}))),
              ElementsAre("g", "f", "main"));
}

TEST_F(SampleSymbolizerTest, TrimsTheSchedulerOffCpu) {
  const std::vector<std::string> stack = {
      "k:bpf_prog_1_x", "k:bpf_trace_run1", "k:__schedule", "k:schedule",
      "k:do_nanosleep", "k:do_syscall_64",  "nanosleep",    "main"};
  EXPECT_THAT(NamesOf(symbolizer_.Symbolize(Stack(State::kBlocked, stack))),
              ElementsAre("do_nanosleep", "do_syscall_64", "nanosleep", "main"));
  EXPECT_THAT(NamesOf(symbolizer_.Symbolize(Stack(State::kOnCpu, stack))), ::testing::SizeIs(8));
}

TEST_F(SampleSymbolizerTest, PreemptedUserCodeIsTheLeaf) {
  EXPECT_THAT(NamesOf(symbolizer_.Symbolize(Stack(
                  State::kRunnable, {"k:__schedule", "k:schedule", "k:irqentry_exit_to_user_mode",
                                     "k:asm_sysvec_apic_timer_interrupt", "spin", "main"}))),
              ElementsAre("spin", "main"));
}

TEST_F(SampleSymbolizerTest, UserFunctionsCalledLikeTheSchedulersStay) {
  EXPECT_THAT(
      NamesOf(symbolizer_.Symbolize(Stack(
          State::kBlocked, {"k:__schedule", "k:schedule", "schedule", "__schedule", "main"}))),
      ElementsAre("schedule", "__schedule", "main"));
}

TEST_F(SampleSymbolizerTest, CountsWhatHasNoName) {
  process::Sample sample;
  sample.frames = {UserAddress(module_, 1), UserAddress(nullptr, 2), UserAddress(module_, 1)};
  EXPECT_THAT(NamesOf(symbolizer_.Symbolize(std::move(sample))), ElementsAre("", "", ""));
  EXPECT_EQ(symbolizer_.counters().unresolved.value(), 2u);
}

TEST_F(SampleSymbolizerTest, ClearForgetsFramesAndModules) {
  auto module = MakeModule("/b");
  const std::weak_ptr<const process::Module> weak = module;
  process::Sample sample;
  sample.frames = {UserAddress(std::move(module), 1)};
  (void)symbolizer_.Symbolize(std::move(sample));
  EXPECT_FALSE(weak.expired());
  symbolizer_.Clear();
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(table_.size(), 0u);
  EXPECT_THAT(NamesOf(symbolizer_.Symbolize(Stack(State::kOnCpu, {"leaf"}))), ElementsAre("leaf"));
}

TEST_F(SampleSymbolizerTest, FrameIdsOutliveForgottenAddresses) {
  const SymbolizedSample first = symbolizer_.Symbolize(Stack(State::kOnCpu, {"leaf", "main"}));
  for (std::uint64_t i = 0; i < SampleSymbolizer::kMaxAddresses; ++i) {
    process::Sample sample;
    sample.frames = {UserAddress(module_, 0x100000 + i)};
    (void)symbolizer_.Symbolize(std::move(sample));
  }
  const int requested = symbols_.requested;
  const SymbolizedSample second = symbolizer_.Symbolize(Stack(State::kOnCpu, {"leaf", "main"}));
  EXPECT_EQ(symbols_.requested, requested + 2) << "they were forgotten";
  EXPECT_EQ(first.frames, second.frames);
}

}  // namespace
}  // namespace profd::symbolize
