#include "daemon/python/feed/registry.h"

#include <gtest/gtest.h>

#include "bpf/shared/events.h"

namespace profd::python {
namespace {

constexpr ProcessKey kParent{10, 1000};
constexpr ProcessKey kChild{11, 2000};

wire::PythonProcessEvent Interpreter(ProcessKey process) {
  wire::PythonProcessEvent event;
  event.header.process = process;
  event.version = 0x030800f0;
  event.chain = PROFD_PYTHON_OBJECTS;
  return event;
}

wire::PythonCodeEvent Code(ProcessKey process, std::uint64_t code, std::uint32_t validator,
                           const std::string& name) {
  wire::PythonCodeEvent event;
  event.header.process = process;
  event.code = code;
  event.validator = validator;
  event.version = 0x030800f0;
  event.first_line = 10;
  event.name = name;
  event.file = "a.py";
  event.lines = std::string("\x02\x01", 2);
  return event;
}

wire::SessionEvent Session(bool end) {
  wire::SessionEvent event;
  event.end = end;
  return event;
}

wire::ForkEvent Fork() {
  wire::ForkEvent event;
  event.header.process = kChild;
  event.new_process = true;
  event.parent_pid = kParent.pid;
  event.parent_process_start_ns = kParent.start_ns;
  return event;
}

wire::PythonFrame Frame(std::uint64_t code, std::uint32_t validator, std::uint32_t at = 0) {
  return {.address = code, .validator = validator, .instruction = at};
}

TEST(Registry, DescribesWhatWasReported) {
  Registry registry;
  registry.Observe(Code(kParent, 64, 1, "f"));
  const auto described = registry.Describe(kParent, Frame(64, 1, 2));
  EXPECT_EQ(described.function->name, "f");
  EXPECT_EQ(described.function->file, "a.py");
  EXPECT_EQ(described.line, 11u);
  EXPECT_EQ(registry.Describe(kParent, Frame(64, 1, 0)).line, 10u);
}

TEST(Registry, TextsHaveABoundInBytes) {
  Registry registry;
  constexpr std::size_t kLong = 1u << 20;
  for (std::uint64_t i = 0; i < 2 * Registry::kMaxCodeBytes / kLong; ++i) {
    wire::PythonCodeEvent code = Code(kParent, 64 * i, 1, "f");
    code.lines = std::string(kLong, 'x');
    registry.Observe(code);
  }
  EXPECT_LE(registry.codes(), Registry::kMaxCodeBytes / kLong);
  EXPECT_GE(registry.codes(), Registry::kMaxCodeBytes / kLong / 2);
}

TEST(Registry, LinesAreFoundAgainAfterManyOthers) {
  Registry registry;
  registry.Observe(Code(kParent, 64, 1, "f"));
  EXPECT_EQ(registry.Describe(kParent, Frame(64, 1, 2)).line, 11u);
  constexpr std::uint32_t kInstructions = 8'192;
  for (std::uint64_t i = 1; i <= Registry::kMaxLinesKept / kInstructions + 1; ++i) {
    registry.Observe(Code(kChild, 64 * i, 1, "g"));
    for (std::uint32_t at = 0; at < kInstructions; ++at)
      (void)registry.Describe(kChild, Frame(64 * i, 1, at));
  }
  EXPECT_EQ(registry.Describe(kParent, Frame(64, 1, 2)).line, 11u);
}

TEST(Registry, WhatHasNoLineOfItsOwnIsOnTheFirst) {
  Registry registry;
  auto code = Code(kParent, 64, 1, "f");
  code.version = 0x030b00f0;
  code.lines = std::string("\xf8", 1);  // one instruction without a line
  registry.Observe(code);
  EXPECT_EQ(registry.Describe(kParent, Frame(64, 1, 0)).line, 10u);
  EXPECT_EQ(registry.Describe(kParent, Frame(64, 1, 0xffffffffu)).line, 10u);
}

TEST(Registry, FramesThatTheInterpreterAddsHaveNoFunction) {
  Registry registry;
  auto code = Code(kParent, 64, 1, "__init__");
  registry.Observe(code);
  EXPECT_NE(registry.Describe(kParent, Frame(64, 1)).function, nullptr);
  code.file = "__init__";
  registry.Observe(code);
  EXPECT_EQ(registry.Describe(kParent, Frame(64, 1)).function, nullptr);
}

TEST(Registry, AnotherValidatorIsAnotherFunction) {
  Registry registry;
  registry.Observe(Code(kParent, 64, 1, "f"));
  registry.Observe(Code(kParent, 64, 2, "g"));
  auto stale = Code(kParent, 64, 3, "");
  stale.stale = true;
  registry.Observe(stale);
  EXPECT_EQ(registry.Describe(kParent, Frame(64, 1)).function->name, "f");
  EXPECT_EQ(registry.Describe(kParent, Frame(64, 2)).function->name, "g");
  EXPECT_EQ(registry.Describe(kParent, Frame(64, 3)).function->name, "<stale>");
  EXPECT_EQ(registry.Describe(kParent, Frame(64, 4)).function->name, "<unknown>");
  EXPECT_EQ(registry.Describe(kChild, Frame(64, 1)).function->name, "<unknown>");
  EXPECT_EQ(registry.stale(), 1u);
  EXPECT_EQ(registry.unknown(), 2u);
}

TEST(Registry, QualifiedNamesWin) {
  Registry registry;
  auto code = Code(kParent, 64, 1, "f");
  code.qualname = "A.f";
  registry.Observe(code);
  EXPECT_EQ(registry.Describe(kParent, Frame(64, 1)).function->name, "A.f");
}

TEST(Registry, ChildrenInheritUntilTheyExecute) {
  Registry registry;
  registry.Observe(Interpreter(kParent));
  registry.Observe(Fork());
  ASSERT_EQ(registry.RuntimesOf(kChild).size(), 1u);
  EXPECT_EQ(registry.RuntimesOf(kChild).front().version, 0x030800f0u);
  registry.Observe(Code(kChild, 64, 1, "f"));
  wire::ExecEvent exec;
  exec.header.process = kChild;
  registry.Observe(exec);
  EXPECT_TRUE(registry.RuntimesOf(kChild).empty());
  EXPECT_EQ(registry.Describe(kChild, Frame(64, 1)).function->name, "<unknown>");
  EXPECT_FALSE(registry.RuntimesOf(kParent).empty());
}

TEST(Registry, WhatCannotBeReadIsWhatTheParentHadSaidBeforeTheFork) {
  Registry registry;
  wire::PythonProcessEvent process;
  process.header.process = kParent;
  registry.Observe(process);
  auto before = Code(kParent, 64, 1, "before");
  before.header.time_ns = 10;
  registry.Observe(before);
  auto fork = Fork();
  fork.header.time_ns = 20;
  registry.Observe(fork);
  auto after = Code(kParent, 128, 2, "after");
  after.header.time_ns = 30;
  registry.Observe(after);
  for (const std::uint64_t code : {64, 128}) {
    auto stale = Code(kChild, code, code == 64 ? 1 : 2, "");
    stale.stale = true;
    stale.header.time_ns = 40;
    registry.Observe(stale);
  }
  EXPECT_EQ(registry.Describe(kChild, Frame(64, 1)).function->name, "before");
  EXPECT_EQ(registry.Describe(kChild, Frame(128, 2)).function->name, "<stale>");
  wire::ExecEvent exec;
  exec.header.process = kChild;
  registry.Observe(exec);
  EXPECT_EQ(registry.Describe(kChild, Frame(64, 1)).function->name, "<unknown>");
}

TEST(Registry, WhatHasNoValidatorIsNotWhatItWasOnceInTheParent) {
  Registry registry;
  registry.Observe(Interpreter(kParent));
  registry.Observe(Code(kParent, 64, 0, "once"));
  registry.Observe(Fork());
  EXPECT_EQ(registry.Describe(kParent, Frame(64, 0)).function->name, "once");
  EXPECT_EQ(registry.Describe(kChild, Frame(64, 0)).function->name, "<unknown>");
}

TEST(Registry, EachRuntimeHasItsOwnCode) {
  Registry registry;
  registry.Observe(Interpreter(kParent));
  auto second = Interpreter(kParent);
  second.runtime = 1;
  second.version = 0x030c01f0;
  registry.Observe(second);
  registry.Observe(Code(kParent, 64, 1, "first"));
  auto code = Code(kParent, 64, 1, "second");
  code.runtime = 1;
  registry.Observe(code);
  auto frame = Frame(64, 1);
  EXPECT_EQ(registry.Describe(kParent, frame).function->name, "first");
  frame.runtime = 1;
  EXPECT_EQ(registry.Describe(kParent, frame).function->name, "second");
  frame.runtime = 2;
  EXPECT_EQ(registry.Describe(kParent, frame).function->name, "<unknown>");

  registry.Observe(Fork());
  ASSERT_EQ(registry.RuntimesOf(kChild).size(), 2u);
  EXPECT_EQ(registry.RuntimesOf(kChild)[1].version, 0x030c01f0u);
  EXPECT_EQ(registry.RuntimesOf(kChild)[1].header.process, kChild);
}

TEST(Registry, TheFirstRuntimeBeginsAgain) {
  Registry registry;
  auto second = Interpreter(kParent);
  second.runtime = 1;
  registry.Observe(second);
  EXPECT_TRUE(registry.RuntimesOf(kParent).empty()) << "nothing was reported of the first one";
  registry.Observe(Interpreter(kParent));
  registry.Observe(second);
  registry.Observe(second);
  EXPECT_EQ(registry.RuntimesOf(kParent).size(), 2u);
  registry.Observe(Interpreter(kParent));
  EXPECT_EQ(registry.RuntimesOf(kParent).size(), 1u);
  wire::ExecEvent exec;
  exec.header.process = kParent;
  registry.Observe(second);
  registry.Observe(exec);
  EXPECT_TRUE(registry.RuntimesOf(kParent).empty());
}

TEST(Registry, ForgetsCodeOfWhoHasEndedAndNotOfOthers) {
  Registry registry;
  registry.Observe(Interpreter(kParent));
  registry.Observe(Code(kParent, 64, 1, "f"));
  registry.Observe(Fork());  // an heir of what was said of it
  registry.Observe(Interpreter({5, 5}));
  registry.Observe(Code({5, 5}, 64, 1, "long"));
  wire::ExitEvent exit;
  exit.last_thread = true;
  exit.header.process = kParent;
  registry.Observe(exit);
  for (std::uint32_t pid = 100; pid < 20'100; ++pid) {
    exit.header.process = {pid, pid};
    registry.Observe(Interpreter(exit.header.process));
    registry.Observe(Code(exit.header.process, 64, 1, "short"));
    registry.Observe(exit);
  }
  EXPECT_LE(registry.codes(), 2 * Registry::kMaxEnded + 2);
  EXPECT_EQ(registry.Describe({5, 5}, Frame(64, 1)).function->name, "long");
  EXPECT_EQ(registry.Describe(kChild, Frame(64, 1)).function->name, "f");
  EXPECT_EQ(registry.Describe({20'099, 20'099}, Frame(64, 1)).function->name, "short");
}

TEST(Registry, ForgetsWhenTheLastSessionEnds) {
  Registry registry;
  registry.Observe(Session(false));
  registry.Observe(Session(false));
  registry.Observe(Interpreter(kParent));
  registry.Observe(Code(kParent, 64, 1, "f"));
  registry.Observe(Session(true));
  EXPECT_FALSE(registry.RuntimesOf(kParent).empty());
  registry.Observe(Session(true));
  EXPECT_TRUE(registry.RuntimesOf(kParent).empty());
  EXPECT_EQ(registry.Describe(kParent, Frame(64, 1)).function->name, "<unknown>");
}

TEST(Registry, IsBoundedAndKeepsWhatIsUsed) {
  Registry registry(8);
  registry.Observe(Code(kParent, 64, 1, "used"));
  for (std::uint32_t i = 2; i < 100; ++i) {
    registry.Observe(Code(kParent, 64, i, "churn"));
    EXPECT_EQ(registry.Describe(kParent, Frame(64, 1)).function->name, "used");
  }
  EXPECT_EQ(registry.Describe(kParent, Frame(64, 2)).function->name, "<unknown>");
}

}  // namespace
}  // namespace profd::python
