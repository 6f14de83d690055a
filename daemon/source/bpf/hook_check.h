// The self-test of the hook ladder: does the switch-in hook see switches?
#pragma once

#include "daemon/base/result.h"
#include "daemon/source/bpf/bpf_objects.h"

namespace profd::source {

// Makes a thread that sleeps a few times, and asks the kernel side whether it saw it come back. A
// kprobe can be attached and yet never be hit (the function was inlined where it matters).
// kUnsupported: it was not. Takes some ms.
[[nodiscard]] Result<void> TestSwitchInHook(const BpfObjects& objects);

}  // namespace profd::source
