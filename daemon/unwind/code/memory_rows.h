// MemoryRows: rules for code that a process has made at run time.
#pragma once

#include "daemon/unwind/code/code_rows.h"
#include "daemon/unwind/code/row.h"

namespace profd::unwind {

// Rows of the addresses of `part`, which lies in `mapping`; their offsets count from the mapping's
// begin. `read` reads memory of the process.
[[nodiscard]] PartRows MemoryRows(const CodeRange& part, const CodeRange& mapping,
                                  const CodeRows::Read& read);

}  // namespace profd::unwind
