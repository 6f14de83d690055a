// What a program or library tells the dynamic linker.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "daemon/unwind/cfi/elf_text.h"

namespace profd::unwind {

struct DynamicSymbol {
  std::uint64_t vaddr = 0;
  std::uint64_t bytes = 0;
};

// The dynamic symbol table's definition of `name`. Looks in DT_GNU_HASH: a few bytes are read,
// however large the file. Nothing where that table is missing or damaged.
[[nodiscard]] std::optional<DynamicSymbol> FindSymbol(ElfText& text, std::string_view name);
[[nodiscard]] bool DefinesSymbol(ElfText& text, std::string_view name);

// Whether it is linked with shared libraries; programs that are not export nothing.
[[nodiscard]] bool NeedsLibraries(ElfText& text);

}  // namespace profd::unwind
