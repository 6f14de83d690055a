// What the unwinder finds in published tables, found the same way in user space.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bpf/shared/unwind_table.h"

namespace profd::unwind {

enum class LookupStatus { kFound, kWithoutRule, kNotLoaded, kNoTables };

struct LookupAnswer {
  LookupStatus status = LookupStatus::kNotLoaded;
  profd_unwind_rule rule{};
};

// `pool` is the base of the pool. May run while another thread publishes, between two Synchronize.
// Writes `tick` to last_used as the unwinder does.
[[nodiscard]] LookupAnswer Lookup(const std::byte* pool, profd_unwind_file& file,
                                  std::uint64_t file_offset, std::uint32_t tick);

}  // namespace profd::unwind
