// SlotFinder: where, relative to the thread pointer, threads keep the address of their state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/python/code/process_memory.h"

namespace profd::python {

// A thread state and the thread pointer of its thread, as the state has it.
struct ThreadState {
  std::uint64_t address = 0;
  std::uint64_t thread_pointer = 0;
};

// The word at thread pointer + `offset` points to the state or, where `inner` is not 0, to an
// array whose word at inner - 1 does.
struct Slot {
  std::int64_t offset = 0;
  std::uint32_t inner = 0;
  bool certain = true;
  friend bool operator==(const Slot&, const Slot&) = default;
};

// FindSlot finds the slot by its value: the slot of some thread holds the state of that thread, and
// no thread's slot holds anything else. A slot that a pthread key names (glibc: two levels of
// arrays; musl: one) is always bound. Without a key, as from 3.15 on, the slot is a thread-local
// variable; other such variables hold the state only while the thread runs Python code.
// `keys` are the pthread keys that may be the right one; without any, FindSlot searches variables.
// x86-64 only.
[[nodiscard]] std::optional<Slot> FindSlot(const ProcessMemory& memory,
                                           std::span<const ThreadState> states,
                                           std::span<const std::uint32_t> keys);

}  // namespace profd::python
