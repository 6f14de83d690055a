// DynamicTable: what an ELF file says to the dynamic loader, as far as profd needs it.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/elf/file/elf_file.h"

namespace profd::elf {

// Addresses are the file's own, and as hostile as the file; 0: it has no such part.
struct DynamicTable {
  std::uint64_t hash = 0;  // DT_GNU_HASH
  std::uint64_t symbols = 0;
  std::uint64_t strings = 0;
  std::uint64_t relocations = 0;  // with addends
  std::uint64_t relocation_bytes = 0;
  std::uint64_t plt_relocations = 0;  // the same, those that may be resolved late
  std::uint64_t plt_relocation_bytes = 0;
  bool needs_libraries = false;
  bool is_program = false;  // a position-independent one: DF_1_PIE
};

// Nothing: the file has none, or is not a 64-bit x86 file.
[[nodiscard]] std::optional<DynamicTable> ReadDynamicTable(const ElfFile& file);

}  // namespace profd::elf
