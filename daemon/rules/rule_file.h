// RuleFile: the files that sort frames into classes, rules.toml and those of users.
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

// "spin"; the class as rule files write it.
[[nodiscard]] std::string_view NameOf(FrameClass frame_class);

// One [[rule]]. A pattern is a regular expression of RE2 that has to match the whole text; one that
// is not set matches everything. At least one is set.
struct Rule {
  FrameClass frame_class = FrameClass::kNone;
  std::optional<std::string> function;  // of the name without parameters
  std::optional<std::string> module;    // of the path of the module, or of its last part
  std::optional<std::string> file;      // of the path of the source, or of its last part
  bool leaf = false;                    // only while the function itself runs, or the kernel for it
  std::string place;                    // "rules.toml:12"
  friend bool operator==(const Rule&, const Rule&) = default;
};

// Every pattern of the rules compiles. kInvalidArgument: a line for each problem, "path:line:
// what".
[[nodiscard]] Result<std::vector<Rule>> ParseRules(std::string_view text, const std::string& path);
// As above; kNotFound, kIo: the file cannot be read.
[[nodiscard]] Result<std::vector<Rule>> ReadRuleFile(const std::string& path);

// The text of rules.toml, which is a part of the program.
extern const std::string_view kShippedRules;

}  // namespace profd::rules
