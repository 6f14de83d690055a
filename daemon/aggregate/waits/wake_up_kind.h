// WakeUpKind: what ended a wait, by the kernel stack of the wake-up.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace profd::aggregate {

enum class WakeUpKind : std::uint8_t {
  kThread,    // a thread did: it unlocked, wrote, posted
  kExit,      // a thread did by its end
  kSignal,    // a thread did by a signal
  kSpurious,  // a thread did, but gave the waiter nothing that it waits for
  kTimer,
  kDisk,
  kNet,
  kInterrupt,  // of another device
};

// `kernel`: the names of the kernel frames, from the wake-up outwards. `interrupt`: they lead to
// the entry of an interrupt, or the thread only carries out what interrupts leave to it
// (ksoftirqd). Names as kallsyms has them; compiler suffixes do not count.
[[nodiscard]] WakeUpKind WakeUpKindOf(std::span<const std::string_view> kernel, bool interrupt);

}  // namespace profd::aggregate
