// FilterText: the words of a filter expression, and the tree that they make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"

namespace re2 {
class RE2;
}

namespace profd::client {

enum class FilterField {
  kFunction,
  kModule,
  kFile,
  kThread,
  kProcess,
  kOperator,
  kPhase,
  kState,
  kWait,
  kTime,
  kStep,
  kLabel
};

// A comparison, or what joins others.
struct FilterNode {
  enum class Kind { kAnd, kOr, kNot, kCompare };
  Kind kind = Kind::kCompare;
  std::vector<std::unique_ptr<FilterNode>> parts = {};  // of all but kCompare
  FilterField field = FilterField::kFunction;
  std::string label = {};                             // of kLabel: its name
  bool negated = false;                               // !=
  std::string value = {};                             // of = and !=
  std::shared_ptr<const re2::RE2> pattern = nullptr;  // of ~
  std::uint64_t from_ns = 0;                          // of kTime
  std::uint64_t to_ns = 0;
  std::uint32_t first_step = 0;  // of kStep
  std::uint32_t last_step = 0;
};

// kInvalidArgument says at which character, from 1 on, what is wrong.
[[nodiscard]] Result<std::unique_ptr<FilterNode>> ParseFilter(std::string_view text);

}  // namespace profd::client
