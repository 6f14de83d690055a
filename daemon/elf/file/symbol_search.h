// Finds single symbols of a file by their names, without reading the others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "daemon/elf/file/elf_file.h"

namespace profd::elf {

struct FoundSymbol {
  std::uint64_t vaddr = 0;
  std::uint64_t bytes = 0;
  std::uint32_t index = 0;  // in the dynamic symbol table, of what was found there
  unsigned type = 0;        // STT_*, of a symbol
};

// The dynamic symbol table's definition of `name`. Looks in DT_GNU_HASH: a few bytes are read,
// however large the file. Nothing where that table is missing or damaged, and in files that are not
// 64-bit x86.
[[nodiscard]] std::optional<FoundSymbol> FindDynamicSymbol(const ElfFile& file,
                                                           std::string_view name);

// Whether it is linked with shared libraries; programs that are not export nothing.
[[nodiscard]] bool NeedsLibraries(const ElfFile& file);

// Where each of `names` is defined by .symtab; nothing for what is not there. Reads the whole
// table, in pieces, within the limits; what is damaged is not there. After ReadSections.
void FindInSymbolTable(const ElfFile& file, std::span<const std::string_view> names,
                       std::span<std::optional<FoundSymbol>> found);

// A section that is part of the program in memory. After ReadSections.
[[nodiscard]] std::optional<FoundSymbol> FindLoadedSection(const ElfFile& file,
                                                           std::string_view name);

}  // namespace profd::elf
