// FunctionExtents: where the functions of a file begin and end, by its .eh_frame.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/elf/file/elf_file.h"

namespace profd::elf {

// Code of one function, by virtual addresses.
struct FunctionExtent {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // past the last byte; begin < end
  friend bool operator==(const FunctionExtent&, const FunctionExtent&) = default;
};

// What the FDEs of .eh_frame cover, ascending and disjoint: a stripped file has lost the names of
// its functions, but not these. Reads at most 256 MiB of it, piece by piece, and twice
// limits.symbols FDEs; what is damaged ends the list. Empty for files that are not 64-bit and
// little-endian. After ReadSections.
[[nodiscard]] std::vector<FunctionExtent> ReadFunctionExtents(const ElfFile& file);

// The function that holds an address; null when none does.
[[nodiscard]] const FunctionExtent* FunctionAt(std::span<const FunctionExtent> functions,
                                               std::uint64_t vaddr);

}  // namespace profd::elf
