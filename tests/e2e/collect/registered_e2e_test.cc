// Code that a program registers for debuggers by GDB's JIT interface: names, also where the list is
// hostile.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bpf/shared/events.h"
#include "tests/e2e/running_daemon.h"

namespace profd::e2e {
namespace {

using ::testing::HasSubstr;

constexpr const char* kMade = "made::outer";

class RegisteredTest : public RunningDaemonTest {
 protected:
  void Start(const std::string& how) {
    auto program = testing::Subprocess::Start({TestProgram("registered_program"), how});
    ASSERT_TRUE(program.ok());
    program_.emplace(std::move(*program));
    ASSERT_TRUE(program_->ReadLine().ok());
    pid_ = std::to_string(program_->pid());
  }
  [[nodiscard]] v1::Profile Collect(const std::vector<std::string>& more = {}) const {
    return CollectProcess(pid_, "2", more);
  }

  std::optional<testing::Subprocess> program_;
  std::string pid_;
};

// How the program registers its code, or what is wrong with its list.
class RegisteredListsTest : public RegisteredTest,
                            public ::testing::WithParamInterface<const char*> {};

// Names of a stack's functions from main on, those of the kernel and of libraries left out.
std::vector<std::string> OwnFunctions(const v1::Profile& profile, std::uint32_t node) {
  std::vector<std::string> names;
  while (node != 0) {
    const auto& one = profile.nodes(static_cast<int>(node) - 1);
    const v1::Frame& frame = profile.frames(static_cast<int>(one.frame()));
    const bool own = frame.module().empty() || frame.module().ends_with("registered_program");
    if (own && frame.name() != "_start") names.insert(names.begin(), frame.name());
    node = one.parent();
  }
  return names;
}

// Frames in memory without a file, that have this name or any.
int MadeFrames(const v1::Profile& profile, const std::string& name = "") {
  int count = 0;
  for (const v1::Frame& frame : profile.frames()) {
    const bool made = frame.module().empty() && frame.kind() == v1::FRAME_JIT;
    count += made && (name.empty() || frame.name() == name) ? 1 : 0;
  }
  return count;
}

INSTANTIATE_TEST_SUITE_P(All, RegisteredListsTest,
                         ::testing::Values("relocatable", "linked", "loop", "huge", "nowhere",
                                           "changing"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(RegisteredListsTest, ItsCodeHasNames) {
  ASSERT_NO_FATAL_FAILURE(Start(GetParam()));
  const v1::Profile profile = Collect();
  EXPECT_GT(MadeFrames(profile, kMade), 0);
  EXPECT_EQ(MadeFrames(profile), MadeFrames(profile, kMade));
  for (const v1::Frame& frame : profile.frames()) {
    if (frame.name() != kMade) continue;
    EXPECT_EQ(frame.full_name(), "made::outer(void (*)())");
    EXPECT_EQ(frame.symbol(), "_ZN4made5outerEPFvvE");
  }
  // It computes there, and it sleeps in what that calls.
  EXPECT_GT(TimeIn(profile, kMade).on_cpu_ns, 0u);
  EXPECT_FALSE(TimeIn(profile, kMade).blocked_ns.empty());
}

TEST_P(RegisteredListsTest, ItsCallersAreThere) {
  ASSERT_NO_FATAL_FAILURE(Start(GetParam()));
  auto daemon = StartDaemon();
  ASSERT_TRUE(daemon.has_value());
  // The first stacks request the rules that the next ones have.
  (void)Collect({"--host", host_});
  const v1::Profile profile = Collect({"--host", host_});
  const auto& samples = profile.samples();
  std::map<std::vector<std::string>, int> stacks;  // of the thread that runs the code
  for (int i = 0; i < samples.node_size(); ++i) {
    const auto functions = OwnFunctions(profile, samples.node(i));
    if (std::ranges::find(functions, kMade) == functions.end()) continue;
    ++stacks[functions];
    EXPECT_NE(samples.stack_flags(i) & PROFD_STACK_COMPLETE, 0u);
    EXPECT_EQ(samples.stack_flags(i) & PROFD_STACK_UNCERTAIN, 0u);
  }
  // In its own loop, and in both functions that it calls: on a CPU and off it.
  EXPECT_THAT(
      stacks,
      ::testing::UnorderedElementsAre(
          ::testing::Key(::testing::ElementsAre("main", "run_code", kMade)),
          ::testing::Key(::testing::ElementsAre("main", "run_code", kMade, "computes_in_callee")),
          ::testing::Key(::testing::ElementsAre("main", "run_code", kMade, "sleeps_in_callee"))));
  Stop(*daemon);
}

TEST_F(RegisteredTest, SymbolsAndDoctorSayWhereTheNamesAreFrom) {
  ASSERT_NO_FATAL_FAILURE(Start("relocatable"));
  EXPECT_THAT(Profctl({"symbols", "-p", pid_, "-d", "1"}).out, HasSubstr("gdb jit"));
  EXPECT_THAT(Profctl({"doctor", "-p", pid_, "--json"}).out,
              HasSubstr("its names are in objects that it registers for debuggers (gdb jit)"));
}

TEST_F(RegisteredTest, AReplayHasTheSameNames) {
  ASSERT_NO_FATAL_FAILURE(Start("relocatable"));
  const std::string host = "unix:" + File("profd.sock");
  const auto serve = [&](const char* option) {
    auto daemon = testing::Subprocess::Start(
        {Binary("profd"), "--listen", host, option, File("r.profd")}, options_);
    EXPECT_TRUE(daemon.ok() && daemon->WaitForStderr("serving").ok());
    return daemon;
  };
  const auto sources = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"symbols", "--json", "--host", host, "-p", pid_});
    const auto outcome = Profctl(std::move(arguments));
    const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << outcome.out << outcome.err;
    for (const auto& module : json["modules"])
      if (module["path"] == "") return module["symbols_from"].get<std::string>();
    return std::string();
  };
  auto live = serve("--record");
  EXPECT_EQ(sources({"-d", "1"}), "gdb jit");
  live->Signal(SIGTERM);
  EXPECT_EQ(live->Wait().exit_code, 0);
  auto replay = serve("--replay");
  EXPECT_EQ(sources({}), "gdb jit");
  replay->Signal(SIGTERM);
  EXPECT_EQ(replay->Wait().exit_code, 0);
}

TEST_F(RegisteredTest, WhatIsNotRegisteredHasTheReason) {
  ASSERT_NO_FATAL_FAILURE(Start("none"));
  const v1::Profile profile = Collect();
  EXPECT_EQ(MadeFrames(profile), 0);
  bool has_reason = false;
  for (const v1::Frame& frame : profile.frames())
    has_reason |= frame.reason().find("code made at run time") != std::string::npos;
  EXPECT_TRUE(has_reason);
  // Nothing but the registered object says who called it.
  EXPECT_EQ(TimeIn(profile, "run_code").samples, 0u);
  EXPECT_THAT(Profctl({"symbols", File("out.json")}).out, HasSubstr("a jump leads to an address"));
}

}  // namespace
}  // namespace profd::e2e
