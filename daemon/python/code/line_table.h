// Which source line an instruction of a code object belongs to.
#pragma once

#include <cstdint>
#include <string_view>

namespace profd::python {

// `version` as PY_VERSION_HEX says how `lines` is written (0: a version that is not understood):
//   3.7 to 3.9   co_lnotab      pairs of bytes: so many bytes of code, so many lines, signed
//   3.10         co_linetable   the same, with ranges that have no line
//   3.11 on      co_linetable   locations: a range of code each, in one of several short forms
// `instruction` as in the Python part of a sample: bytes from the first instruction (3.10: units of
// two). In a frame that has called another it is the call's, or its cache's, so the same rule holds
// for the innermost frame and for its callers. A negative one, as before the first instruction has
// run, is the function's first line.
// 0: the instruction has no line, or the table is damaged. Reads the table once; allocates nothing.
[[nodiscard]] std::uint32_t LineOf(std::uint32_t version, std::int32_t first_line,
                                   std::string_view lines, std::uint32_t instruction);

}  // namespace profd::python
