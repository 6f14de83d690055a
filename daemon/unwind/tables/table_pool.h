// TablePool: gives out places in the memory that the unwinder reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "bpf/shared/unwind_table.h"
#include "daemon/source/bpf/unwind_maps.h"

namespace profd::unwind {

using Place = std::uint32_t;  // in units of PROFD_PLACE_UNIT bytes; 0: nowhere

// First fit, slab after slab, up to the cap. Programs may still read memory that was freed, so it
// stays in quarantine until all programs that run now have ended; one wait serves many places.
// Owned by TableStore; used by its thread.
class TablePool {
 public:
  // `cap_bytes` of kernel memory for slabs. `memory` must outlive this.
  TablePool(source::PoolMemory& memory, std::uint64_t cap_bytes);

  // `bytes` long, at a multiple of `align_units`; its first `whole_bytes` lie in one page. Nothing
  // when the cap is reached: free something; or when nothing says that what was freed is no longer
  // read. The bytes are what they were.
  [[nodiscard]] std::optional<Place> Allocate(std::uint64_t bytes, std::uint32_t align_units,
                                              std::uint64_t whole_bytes);
  // Of a place from Allocate, with the same `bytes`. Nothing may lead to it any more.
  void Free(Place place, std::uint64_t bytes);

  template <typename T>
  [[nodiscard]] T* At(Place place) const {
    return reinterpret_cast<T*>(memory_.base() + std::uint64_t{place} * PROFD_PLACE_UNIT);
  }

  [[nodiscard]] std::uint64_t used_bytes() const { return used_units_ * PROFD_PLACE_UNIT; }
  // Freed, but not yet to be used again.
  [[nodiscard]] std::uint64_t quarantined_bytes() const;
  [[nodiscard]] std::uint64_t memory_bytes() const {
    return slabs_ * source::PoolMemory::kSlabCost;
  }
  [[nodiscard]] std::uint64_t max_bytes() const {
    return max_slabs_ * source::PoolMemory::kSlabBytes;
  }

 private:
  [[nodiscard]] std::optional<Place> TakeFree(std::uint64_t units, std::uint32_t align_units,
                                              std::uint64_t whole_bytes);
  void Release(std::uint64_t begin, std::uint64_t units);
  [[nodiscard]] bool EmptyQuarantine();
  [[nodiscard]] bool AddSlab();

  source::PoolMemory& memory_;
  const std::uint64_t max_slabs_;
  std::uint64_t slabs_ = 0;
  std::uint64_t used_units_ = 0;
  std::uint64_t quarantined_units_ = 0;
  std::map<std::uint64_t, std::uint64_t> free_;  // begin -> units; no two touch
  std::vector<std::pair<Place, std::uint64_t>> quarantine_;
};

}  // namespace profd::unwind
