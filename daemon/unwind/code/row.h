// Row, PartRows: from which file offset on a rule holds; CodeRange: a range of addresses.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bpf/shared/unwind_table.h"

namespace profd::unwind {

// Rule 0, all zero: not known.
inline constexpr profd_unwind_rule kNoRule{};

// Addresses, the object's own.
struct CodeRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] bool holds(std::uint64_t address) const { return address - begin < end - begin; }
  friend bool operator==(const CodeRange&, const CodeRange&) = default;
};

// `rule` holds from `offset` on until the next row. Rule kNoRule: nothing is known.
struct Row {
  std::uint64_t offset = 0;  // in the file
  profd_unwind_rule rule{};
};

// Functions whose begins are certain and that have no rules, or not everywhere, by
// FunctionRows::Outcome.
using RefusedFunctions = std::array<std::uint32_t, 9>;

// Rows of a part of a file, or of memory.
struct PartRows {
  std::vector<Row> rows;  // ascending; no two neighbours have the same rule
  // Bytes of code without unwind information: with a rule, and without one.
  std::uint64_t code_bytes = 0;
  std::uint64_t bare_bytes = 0;
  // There is more of such code than is read unless a program requests it: there are no rows.
  bool deferred = false;
  RefusedFunctions refused{};
};

[[nodiscard]] bool Same(const profd_unwind_rule& a, const profd_unwind_rule& b);
// `offset` is not before that of the last row. A row that says what the one before it says is left
// out.
void Append(std::uint64_t offset, const profd_unwind_rule& rule, std::vector<Row>& rows);

}  // namespace profd::unwind
