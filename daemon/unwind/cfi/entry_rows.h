// Rows for the code at a file's entry point.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/unwind/cfi/cfi_reader.h"

namespace profd::unwind {

// Code that nobody calls has no caller: where no rule is known from the entry point on, as in
// glibc's dynamic loader, stacks end. `rows` reach to `end`.
void EndAtEntry(std::uint64_t entry, std::uint64_t end, std::vector<Row>& rows);

}  // namespace profd::unwind
