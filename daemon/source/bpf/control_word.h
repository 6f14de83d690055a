// How user space writes the words of struct profd_control (bpf/shared/control.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "bpf/shared/control.h"

namespace profd::source {

// Writes a control word so that programs on other CPUs see everything written before it.
inline void StoreControl(__u64& word, std::uint64_t value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

}  // namespace profd::source
