// Code without unwind rules: its stacks are right where it keeps frame pointers, and marked in
// every place where a reader may look.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "bpf/shared/events.h"
#include "tests/e2e/running_daemon.h"
#include "tests/support/eventually.h"

namespace profd::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kMark = "go on by frame pointer";
constexpr const char* kMarkInDump =
    "    [by frame pointer from here on, where code has no unwind rules: callers beyond may be "
    "wrong "
    "or missing]\n    middle_without_rules";

class NoRulesTest : public RunningDaemonTest {
 protected:
  void Start(const std::vector<std::string>& command) {
    auto program = testing::Subprocess::Start(command);
    ASSERT_TRUE(program.ok());
    program_.emplace(std::move(*program));
    pid_ = std::to_string(program_->pid());
  }

  std::optional<testing::Subprocess> program_;
  std::string pid_;
};

// Names of a stack's functions, root first, of the program's own.
std::vector<std::string> OwnFunctions(const v1::Profile& profile, std::uint32_t node) {
  std::vector<std::string> names;
  for (; node != 0; node = profile.nodes(static_cast<int>(node) - 1).parent()) {
    const auto& name =
        profile.frames(static_cast<int>(profile.nodes(static_cast<int>(node) - 1).frame())).name();
    if (name == "main" || name.ends_with("_without_rules")) names.insert(names.begin(), name);
  }
  return names;
}

TEST_F(NoRulesTest, StacksAreWholeAndMarked) {
  ASSERT_NO_FATAL_FAILURE(Start({TestProgram("no_rules_program")}));
  const auto outcome = Profctl({"collect", "-p", pid_, "-d", "2", "-f", "summary"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(kMark));
  ASSERT_EQ(Profctl({"collect", "-q", "-p", pid_, "-d", "2", "-F", "499", "-o", File("x.json")})
                .exit_code,
            0);
  const auto profile = ReadProfile(File("x.json"));
  const auto& samples = profile.samples();
  int marked = 0;
  for (int i = 0; i < samples.node_size(); ++i) {
    if ((samples.stack_flags(i) & PROFD_STACK_UNCERTAIN) == 0 || samples.node(i) == 0) continue;
    if (samples.state(i) != v1::STATE_BLOCKED) continue;
    ++marked;
    EXPECT_NE(samples.stack_flags(i) & PROFD_STACK_COMPLETE, 0u);
    EXPECT_THAT(OwnFunctions(profile, samples.node(i)),
                ::testing::ElementsAre("main", "outermost_without_rules", "middle_without_rules",
                                       "innermost_without_rules"));
  }
  EXPECT_GT(marked, 0);
}

TEST_F(NoRulesTest, DoctorAndDumpSaySo) {
  ASSERT_NO_FATAL_FAILURE(Start({TestProgram("no_rules_program")}));
  auto daemon = StartDaemon();
  ASSERT_TRUE(daemon.has_value());
  std::string text;
  ASSERT_TRUE(test::Eventually([&] {
    text = Profctl({"dump", "--host", host_, "-p", pid_}).out;
    return text.find("blocked") != std::string::npos &&
           text.find("[tables not ready]") == std::string::npos;
  })) << text;
  EXPECT_THAT(text, HasSubstr(kMarkInDump));
  const auto dump =
      nlohmann::json::parse(Profctl({"dump", "--host", host_, "-p", pid_, "--json"}).out);
  EXPECT_EQ(dump["processes"][0]["threads"][0]["by_frame_pointer"], true);
  EXPECT_THAT(Profctl({"doctor", "--host", host_, "-p", pid_, "--json"}).out, HasSubstr(kMark));
  Stop(*daemon);
}

TEST_F(NoRulesTest, DoctorAndSymbolsSayWhyItHasNone) {
  for (const bool is_stripped : {false, true}) {
    std::string path = TestProgram("no_rules_program");
    if (is_stripped) {
      path = File("stripped");
      ASSERT_EQ(testing::Run({"strip", "-o", path, TestProgram("no_rules_program")}).exit_code, 0);
    }
    ASSERT_NO_FATAL_FAILURE(Start({path}));
    auto daemon = StartDaemon();
    ASSERT_TRUE(daemon.has_value());
    const auto json_of = [&](const std::vector<std::string>& command) {
      std::vector<std::string> arguments{command};
      arguments.insert(arguments.end(), {"--host", host_, "-p", pid_, "--json"});
      return nlohmann::json::parse(Profctl(arguments).out, nullptr, false);
    };
    nlohmann::json row = nlohmann::json::object();
    ASSERT_TRUE(test::Eventually([&] {  // once its tables have been requested
      const auto symbols = json_of({"symbols", "-d", "0.5"});
      for (const auto& module : symbols["modules"])
        if (module["path"] == path) row = module;
      return row.value("code_bare_bytes", 0) > 0;
    })) << row;
    // The calls of what is not followed lead nowhere: without symbols its functions are not known.
    std::string reasons;
    for (const auto& reason : row["code_refused"]) reasons += reason["reason"];
    EXPECT_EQ(reasons.find("a jump leads to an address that is not known") != std::string::npos,
              !is_stripped)
        << row;
    std::string found;
    const auto doctor = json_of({"doctor"});
    for (const auto& check : doctor["checks"])
      if (check["check"] == "code") found = check["found"];
    EXPECT_THAT(found, HasSubstr("without unwind information has rules made from the code; most"));
    Stop(*daemon);
  }
}

TEST_F(NoRulesTest, CodeWithRulesIsNotMarked) {
  ASSERT_NO_FATAL_FAILURE(Start({"/bin/sleep", "300"}));
  EXPECT_THAT(Profctl({"collect", "-p", pid_, "-d", "1", "-f", "summary"}).out,
              Not(HasSubstr(kMark)));
  EXPECT_THAT(Profctl({"dump", "-p", pid_}).out, Not(HasSubstr("frame pointer")));
}

}  // namespace
}  // namespace profd::e2e
