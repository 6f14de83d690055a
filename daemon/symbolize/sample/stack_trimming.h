// Stack trimming: takes the mechanics of waiting off the leaf of a stack, so that what waits is it.
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
};

// `name` as kallsyms has it; compiler suffixes (".isra.0") do not count.
[[nodiscard]] KernelRole RoleOf(std::string_view name);

// How many frames to take off an off-CPU stack: `roles` are those of its kernel frames, leaf first.
// Up to and including the switch; then the functions that only carry out a wait, so that
// `futex_do_wait`, `do_nanosleep`, `anon_pipe_read` or `folio_wait_bit_common` is the leaf; and for
// a thread that was preempted the interrupt too, so that the interrupted function is. 0 when there
// is no switch near the leaf: then it is not known what the frames are. On-CPU stacks begin at the
// interrupted instruction and need none of this.
[[nodiscard]] std::size_t FramesToTrim(std::span<const KernelRole> roles);

}  // namespace profd::symbolize
