// HookCheck: a self-test that shows whether the switch-in hook sees switches.
#pragma once

#include "daemon/base/result.h"
#include "daemon/source/bpf/bpf_objects.h"

namespace profd::source {

// Starts a thread that sleeps a few times, and checks that the BPF side has seen it switch in. A
// kprobe can be attached and still never be hit, because the function was inlined where it matters.
// kUnsupported: the hook was not hit. Takes some ms.
[[nodiscard]] Result<void> TestSwitchInHook(const BpfObjects& objects);

}  // namespace profd::source
