// SymbolIndex: the symbols of one large file, in a file of profd's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/elf/file/byte_source.h"
#include "daemon/elf/file/object.h"
#include "daemon/elf/symbols/elf_reader.h"
#include "daemon/elf/symbols/symbol_table.h"

namespace profd::elf {

// A small SymbolTable in the index: its entries, then its names. Plain: it travels as it is.
struct IndexBlock {
  std::uint64_t begin = 0;   // of its first entry
  std::uint64_t offset = 0;  // in the index
  std::uint32_t entries = 0;
  std::uint32_t name_bytes = 0;
};

// Writes the functions of `source`, whose .symtab lists more symbols or longer names than the
// limits allow in memory, to the beginning of the file `fd`, ascending and by the rules of
// SymbolTable. Stubs and functions without a symbol are those of `contents`. Never holds more than
// the limits allow: it reads the symbols once or twice for each part of the code. kExhausted: more
// than limits.indexed_symbols or limits.index_bytes, or damaged in a way that would need more.
[[nodiscard]] Result<std::vector<IndexBlock>> WriteSymbolIndex(const ByteSource& source,
                                                               const ElfContents& contents,
                                                               const ElfLimits& limits, int fd);

// The same with a table that is in memory.
[[nodiscard]] Result<std::vector<IndexBlock>> WriteSymbolIndex(const SymbolTable& table,
                                                               const ElfLimits& limits, int fd);

// Finds functions in such a file, of which it holds 24 bytes for 64 functions, and the block that
// was read last. The process that wrote the file may have been taken over, and may still write to
// it: what is read is checked. Used by one thread.
class SymbolIndex {
 public:
  // kCorrupt: the blocks are not in order, or too large.
  [[nodiscard]] static Result<SymbolIndex> Open(std::shared_ptr<const UniqueFd> file,
                                                std::vector<IndexBlock> blocks);

  // The name is valid until the next call. Nothing, too, where the index cannot be read.
  [[nodiscard]] std::optional<SymbolRange> Find(std::uint64_t vaddr) const;
  // In memory, and a part of what the file takes: caches of such objects bound both.
  [[nodiscard]] std::size_t bytes() const;

 private:
  SymbolIndex(std::shared_ptr<const UniqueFd> file, std::vector<IndexBlock> blocks)
      : file_(std::move(file)), blocks_(std::move(blocks)) {}
  [[nodiscard]] SymbolTable ReadBlock(const IndexBlock& block) const;

  std::shared_ptr<const UniqueFd> file_;
  std::vector<IndexBlock> blocks_;  // ascending by begin
  mutable SymbolTable read_;
  mutable const IndexBlock* read_of_ = nullptr;
};

}  // namespace profd::elf
