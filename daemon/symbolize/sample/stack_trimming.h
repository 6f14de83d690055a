// Stack trimming: takes the kernel's mechanics of waiting off the leaf of a stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace profd::symbolize {

// What a kernel function is in the stack of a thread that left the CPU.
enum class KernelRole : std::uint8_t {
  kOther,
  kSwitch,          // the scheduler itself: what lies above is our own tracing
  kWait,            // how waiting is done, whatever is waited for
  kInterruptExit,   // preemption on the way back from an interrupt or a syscall
  kInterruptEntry,  // the interrupt that it came with
  kWakeUp,          // how waking is done, whatever is woken
};

// `name` as kallsyms has it; compiler suffixes (".isra.0") do not count.
[[nodiscard]] KernelRole RoleOf(std::string_view name);

// How many frames to take off an off-CPU stack. `roles` are those of its kernel frames, leaf first.
// It counts the frames up to and including the switch, and then the functions that only carry out a
// wait. So the leaf is `futex_do_wait`, `do_nanosleep`, `anon_pipe_read` or
// `folio_wait_bit_common`. For a preempted thread it also counts the interrupt, so that the leaf is
// the interrupted function. 0 without a switch near the leaf: then the roles of the frames are
// unknown. On-CPU stacks begin at the interrupted instruction and are not trimmed.
[[nodiscard]] std::size_t FramesToTrim(std::span<const KernelRole> roles);
// The same for the stack of a thread, or an interrupt, that wakes another thread. The leaf is who
// wants the wake-up: `futex_wake`, `anon_pipe_write`, `hrtimer_wakeup`.
[[nodiscard]] std::size_t WakeUpFramesToTrim(std::span<const KernelRole> roles);

}  // namespace profd::symbolize
