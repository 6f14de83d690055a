// FrameRule: a frame as libdw describes it -> a rule that the unwinder can follow.
#pragma once

#include <elfutils/libdw.h>

#include "bpf/shared/unwind_table.h"
#include "daemon/unwind/code/row.h"

namespace profd::unwind {

// kNoRule when the frame needs more than a rule can say; a register whose place a rule cannot say
// is PROFD_LOST.
[[nodiscard]] profd_unwind_rule RuleOf(Dwarf_Frame* frame);

}  // namespace profd::unwind
