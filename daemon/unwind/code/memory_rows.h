// MemoryRows, MemoryFunctions: rules and functions of code that a process has made at run time.
#pragma once

#include <span>
#include <vector>

#include "daemon/unwind/code/code_rows.h"
#include "daemon/unwind/code/function_rows.h"
#include "daemon/unwind/code/row.h"

namespace profd::unwind {

// Rows of the addresses of `part`, which lies in `mapping`; their offsets count from the mapping's
// begin. `known`: what the process itself says of code in this part, ascending and disjoint; there
// the code is not followed. `read` reads memory of the process.
[[nodiscard]] PartRows MemoryRows(const CodeRange& part, const CodeRange& mapping,
                                  const CodeRows::Read& read,
                                  std::span<const FunctionRows::Piece> known = {});

// Functions with code in `part` whose begins are certain, ascending and disjoint.
[[nodiscard]] std::vector<CodeRange> MemoryFunctions(const CodeRange& part,
                                                     const CodeRange& mapping,
                                                     const CodeRows::Read& read);

}  // namespace profd::unwind
