// InterruptEntries: where the kernel's code begins that an interrupt enters.
#pragma once

#include <cstdint>
#include <istream>

namespace profd::source {

// Addresses [begin, end); both 0: not known. Entries of exceptions lie elsewhere: a page fault is
// the doing of its thread.
struct InterruptEntries {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  friend bool operator==(const InterruptEntries&, const InterruptEntries&) = default;
};

// From the text of /proc/kallsyms, of which it reads no more than it needs: the symbols of the
// kernel itself are in the order of their addresses, and the entries are among the first. x86-64:
// `asm_common_interrupt`, or whichever entry of an interrupt is the first one, up to
// `__irqentry_text_end` (arch/x86/include/asm/idtentry.h has exceptions first).
[[nodiscard]] InterruptEntries FindInterruptEntries(std::istream& kallsyms);

}  // namespace profd::source
