#include "daemon/unwind/tables/chunk_builder.h"

#include <algorithm>
#include <cstring>

namespace profd::unwind {
namespace {

constexpr std::uint32_t kBlockBytes = 1u << PROFD_BLOCK_SHIFT;

// Appends the rows of one block, which follow each other in `at`.
class BlockPacker {
 public:
  BlockPacker(std::vector<profd_unwind_row>& rows, PackedChunk& chunk)
      : rows_(rows), chunk_(chunk) {}

  void Begin() { first_ = rows_.size(); }
  void Add(std::uint16_t offset, std::uint16_t rule) {
    if (rows_.size() > first_ && rows_.back().rule == rule) return;
    if (rows_.size() - first_ == PROFD_BLOCK_MAX_ROWS) {
      if (rows_.back().rule != 0) ++chunk_.cut_blocks;
      rows_.back().rule = 0;
      return;
    }
    rows_.push_back({offset, rule});
  }

 private:
  std::vector<profd_unwind_row>& rows_;
  PackedChunk& chunk_;
  std::size_t first_ = 0;
};

}  // namespace

PackedChunk PackChunk(std::span<const Row> rows, std::uint64_t begin, RuleTable& rules) {
  PackedChunk packed;
  profd_chunk header{};
  std::vector<profd_unwind_row> out;
  BlockPacker packer(out, packed);
  std::uint16_t rule = 0;  // the effective one
  bool any = false;
  auto next = rows.begin();
  for (std::uint32_t block = 0; block < PROFD_CHUNK_BLOCKS; ++block) {
    header.first_row[block] = static_cast<__u16>(out.size());
    const std::uint32_t block_begin = block * kBlockBytes;
    packer.Begin();
    if (next == rows.end() || next->offset != begin + block_begin)
      packer.Add(static_cast<std::uint16_t>(block_begin), rule);
    for (; next != rows.end() && next->offset < begin + block_begin + kBlockBytes; ++next) {
      rule = rules.IndexOf(next->rule);
      any = any || rule != 0;
      packer.Add(static_cast<std::uint16_t>(next->offset - begin), rule);
    }
  }
  if (!any) return packed;
  header.first_row[PROFD_CHUNK_BLOCKS] = static_cast<__u16>(out.size());
  packed.rows = static_cast<std::uint32_t>(out.size());
  packed.bytes.resize(sizeof header + out.size() * sizeof(profd_unwind_row));
  std::memcpy(packed.bytes.data(), &header, sizeof header);
  std::memcpy(packed.bytes.data() + sizeof header, out.data(),
              out.size() * sizeof(profd_unwind_row));
  return packed;
}

}  // namespace profd::unwind
