// Row, CodeRange: from which file offset on a rule holds, and a range of code.
#pragma once

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

[[nodiscard]] bool Same(const profd_unwind_rule& a, const profd_unwind_rule& b);
// `offset` is not before that of the last row. A row that says what the one before it says is left
// out.
void Append(std::uint64_t offset, const profd_unwind_rule& rule, std::vector<Row>& rows);

}  // namespace profd::unwind
