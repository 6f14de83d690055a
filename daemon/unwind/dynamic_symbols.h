// What a program or library exports, asked by name.
#pragma once

#include <string_view>

#include "daemon/unwind/elf_text.h"

namespace profd::unwind {

// Whether the dynamic symbol table defines `name`. Looks in DT_GNU_HASH: a few bytes are read,
// however large the file. False where that table is missing or damaged.
[[nodiscard]] bool DefinesSymbol(ElfText& text, std::string_view name);

}  // namespace profd::unwind
