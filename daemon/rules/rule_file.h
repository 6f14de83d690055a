// RuleFile: the files that say what frames do, rules.toml and those of users.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"

namespace profd::rules {

// What code does in the frames that a rule matches.
enum class FrameClass : std::uint8_t {
  kNone,
  kSpin,     // waits with a CPU in hand
  kGpuWait,  // waits for a GPU
  kRuntime,  // allocators, dispatch
  kCopy,     // moves memory
  kWork      // works, though it runs inside of a wait
};

// The part of the work of a framework that a frame begins.
enum class Phase : std::uint8_t {
  kNone,
  kData,
  kForward,
  kBackward,
  kOptimizer,
  kCommunication,
  kOther
};

// "spin", "backward"; as rule files write them.
[[nodiscard]] std::string_view NameOf(FrameClass frame_class);
[[nodiscard]] std::string_view NameOf(Phase phase);

// Which frames a rule is for. A pattern is a regular expression of RE2 that has to match the whole
// text; one that is not set matches everything. At least one is set.
struct FramePattern {
  std::optional<std::string> function;  // of the name without parameters
  std::optional<std::string> module;    // of the path of the module, or of its last part
  std::optional<std::string> file;      // of the path of the source, or of its last part
  std::string place;                    // "rules.toml:12"
  friend bool operator==(const FramePattern&, const FramePattern&) = default;
};

// One [[rule]].
struct Rule : FramePattern {
  FrameClass frame_class = FrameClass::kNone;
  bool leaf = false;  // only while the function itself runs, or the kernel for it
  friend bool operator==(const Rule&, const Rule&) = default;
};

// The ranks of operators: the least one in a stack wins.
inline constexpr std::uint32_t kBestRank = 1;    // what the dispatcher of a framework runs
inline constexpr std::uint32_t kWorkerRank = 5;  // a worker of a parallel region, no more is known
inline constexpr std::uint32_t kRegionRank = 6;  // the thread that leads one, no more is known

// One [[operator]].
struct OperatorRule : FramePattern {
  std::string name;                // a template for OperatorName
  std::uint32_t rank = kBestRank;  // from kBestRank to kRegionRank
  std::vector<std::string> deny;   // patterns of names that it must not give
  friend bool operator==(const OperatorRule&, const OperatorRule&) = default;
};

// One [[phase]].
struct PhaseRule : FramePattern {
  Phase phase = Phase::kNone;
  friend bool operator==(const PhaseRule&, const PhaseRule&) = default;
};

// One [[method]]: what a virtual function of an interface is called, which stripped files do not
// say.
struct MethodRule {
  std::string interface;              // a pattern for the name of the class that declares it
  std::uint32_t place_in_vtable = 0;  // counted from 0
  std::string name;                   // of the function alone
  std::string place;                  // "rules.toml:12"
  friend bool operator==(const MethodRule&, const MethodRule&) = default;
};

// What a file holds, in its order.
struct Rules {
  std::vector<Rule> classes;
  std::vector<OperatorRule> operators;
  std::vector<PhaseRule> phases;
  std::vector<MethodRule> methods;
  friend bool operator==(const Rules&, const Rules&) = default;
};

// Every pattern and template of the rules compiles. kInvalidArgument: a line for each problem,
// "path:line: what".
[[nodiscard]] Result<Rules> ParseRules(std::string_view text, const std::string& path);
// As above; kNotFound, kIo: the file cannot be read.
[[nodiscard]] Result<Rules> ReadRuleFile(const std::string& path);

// The text of rules.toml, which is a part of the program.
extern const std::string_view kShippedRules;

}  // namespace profd::rules
