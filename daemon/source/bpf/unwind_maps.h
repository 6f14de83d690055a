// The maps with the unwind tables (bpf/shared/unwind_table.h), as who fills them sees them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "bpf/shared/unwind_table.h"
#include "daemon/base/result.h"

namespace profd::source {

// Slabs of memory that the unwinder reads. Used by one thread.
class PoolMemory {
 public:
  static constexpr std::size_t kSlabBytes = std::size_t{PROFD_SLAB_PAGES} * PROFD_POOL_PAGE_BYTES;
  // Kernel memory of one slab: the map's own page, too.
  static constexpr std::size_t kSlabCost = kSlabBytes + PROFD_POOL_PAGE_BYTES;

  virtual ~PoolMemory() = default;
  // The slabs follow each other from here on; the address stays.
  [[nodiscard]] virtual std::byte* base() const = 0;
  // One more slab, zeroed. kExhausted when there are PROFD_MAX_SLABS.
  [[nodiscard]] virtual Result<void> AddSlab() = 0;
  // Returns when every program that was running at the call has ended; on an error they may not.
  [[nodiscard]] virtual Result<void> Synchronize() = 0;
};

// The list of files. Used by one thread.
class FileMaps {
 public:
  virtual ~FileMaps() = default;
  // PROFD_MAX_UNWIND_FILES of them.
  [[nodiscard]] virtual std::span<profd_unwind_file> files() = 0;
  [[nodiscard]] virtual Result<void> Insert(const profd_file_key& key, std::uint32_t index) = 0;
  virtual void Erase(const profd_file_key& key) = 0;
  // The time of last_used; programs write what it was set to last. 0: the unwinder looks at no
  // tables.
  virtual void SetTick(std::uint32_t tick) = 0;
  // Kernel memory of these maps.
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;
};

}  // namespace profd::source
