#include "tests/unit/unwind/table_lookup.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

namespace profd::unwind {
namespace {

template <typename T>
T* AtPlace(const std::byte* pool, std::uint64_t place) {
  // Only last_used is ever written through it.
  return reinterpret_cast<T*>(const_cast<std::byte*>(pool) + place * PROFD_PLACE_UNIT);
}

void NoteUse(__u32& last_used, std::uint32_t tick) {
  std::atomic_ref(last_used).store(tick, std::memory_order_relaxed);
}

std::uint16_t RuleInChunk(const std::byte* pool, std::uint32_t place, std::uint32_t offset) {
  const auto* chunk = AtPlace<const profd_chunk>(pool, place);
  const auto* rows = reinterpret_cast<const profd_unwind_row*>(chunk + 1);
  const std::uint32_t block = offset >> PROFD_BLOCK_SHIFT;
  const auto* begin = rows + chunk->first_row[block];
  const auto* end = rows + chunk->first_row[block + 1];
  const auto* past = std::upper_bound(
      begin, end, offset,
      [](std::uint32_t value, const profd_unwind_row& row) { return value < row.offset; });
  return past == begin ? std::uint16_t{0} : (past - 1)->rule;
}

// `rules` in the lower half, `rule_count` in the upper one: one word to both sides.
using RulesWord [[gnu::may_alias]] = std::uint64_t;

std::uint64_t LoadRules(const profd_unwind_file& file) {
  return __atomic_load_n(reinterpret_cast<const RulesWord*>(&file.rules), __ATOMIC_ACQUIRE);
}

}  // namespace

LookupAnswer Lookup(const std::byte* pool, profd_unwind_file& file, std::uint64_t file_offset,
                    std::uint32_t tick) {
  const std::uint32_t flags = std::atomic_ref(file.flags).load(std::memory_order_acquire);
  if ((flags & PROFD_FILE_PRESENT) == 0) return {};
  NoteUse(file.last_used, tick);
  if ((flags & PROFD_FILE_NO_TABLES) != 0) return {LookupStatus::kNoTables, {}};
  const std::uint64_t chunk = (file_offset >> PROFD_CHUNK_SHIFT) - file.first_chunk;
  if (chunk >= file.chunks) return {LookupStatus::kWithoutRule, {}};
  auto& ref = *AtPlace<profd_chunk_ref>(pool, file.index + chunk);
  const std::uint32_t place = std::atomic_ref(ref.place).load(std::memory_order_acquire);
  if (place == 0) return {};
  NoteUse(ref.last_used, tick);
  if (place == PROFD_CHUNK_EMPTY) return {LookupStatus::kWithoutRule, {}};
  const std::uint16_t rule =
      RuleInChunk(pool, place, file_offset & ((1u << PROFD_CHUNK_SHIFT) - 1));
  if (rule == 0) return {LookupStatus::kWithoutRule, {}};
  const std::uint64_t rules = LoadRules(file);
  if (rule >= rules >> 32) return {};
  const auto* found = AtPlace<const profd_unwind_rule>(
      pool, (rules & 0xffffffff) + rule * (sizeof(profd_unwind_rule) / PROFD_PLACE_UNIT));
  return {LookupStatus::kFound, *found};
}

}  // namespace profd::unwind
