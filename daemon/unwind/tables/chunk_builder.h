// ChunkBuilder: rows of one chunk -> its packed bytes, as bpf/shared/unwind_table.h lays them
// out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "daemon/unwind/cfi/cfi_reader.h"
#include "daemon/unwind/tables/rule_table.h"

namespace profd::unwind {

inline constexpr std::uint64_t kChunkBytes = 1u << PROFD_CHUNK_SHIFT;

struct PackedChunk {
  std::vector<std::byte> bytes;  // struct profd_chunk and its rows; empty: no rule covers any
  std::uint32_t rows = 0;
  std::uint32_t cut_blocks = 0;  // blocks with more rows than fit: their last rows are unknown code
};

// `rows` are those of [begin, begin + kChunkBytes), as CfiReader gives them; `begin` is a
// multiple of kChunkBytes. New rules go to `rules`.
[[nodiscard]] PackedChunk PackChunk(std::span<const Row> rows, std::uint64_t begin,
                                    RuleTable& rules);

}  // namespace profd::unwind
