#include "daemon/budget/memory/memory_budget.h"

#include <algorithm>

namespace profd::budget {
namespace {

constexpr std::uint64_t kWholeQueryBytes = 256u << 20;  // a cap of this size restricts no query

}  // namespace

MemoryLimits LimitsWithin(std::uint64_t cap_bytes) {
  const std::uint64_t eighth = cap_bytes / 8;
  return {.names = eighth,
          .symbol_tables = eighth,
          .elf_file = eighth,
          .debug_info = eighth * 3 / 2,
          .unwind_tables = eighth * 2,
          .queue = eighth,
          // A profile takes the same again while it is made, and while it is sent.
          .session = eighth,
          .query = static_cast<double>(std::min(cap_bytes, kWholeQueryBytes)) / kWholeQueryBytes};
}

bool MemoryBudget::TakeRoom(std::uint64_t bytes) {
  std::uint64_t room = room_bytes_.load(std::memory_order_relaxed);
  while (bytes <= room)
    if (room_bytes_.compare_exchange_weak(room, room - bytes, std::memory_order_relaxed))
      return true;
  return false;
}

}  // namespace profd::budget
