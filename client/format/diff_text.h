// Two profiles compared, as files: folded with two columns, and JSON.
#pragma once

#include <ostream>

#include "client/profile/diff.h"

namespace profd::client {

// A line a stack, sorted: "frame;frame A B" in whole us, as difffolded writes and flamegraph.pl
// reads it. A working stack ends in its function, others in their state. Each column adds up to its
// side.
[[nodiscard]] Result<void> WriteDiffFolded(const Diff& diff, std::ostream& out);

// {"format":"profd-diff","version":1,...}: both sides, all states, functions (those of the kernel
// apart) and stacks, root first, in ns.
[[nodiscard]] Result<void> WriteDiffJson(const Diff& diff, std::ostream& out);

}  // namespace profd::client
