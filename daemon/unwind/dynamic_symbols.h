// What a program or library tells the dynamic linker.
#pragma once

#include <string_view>

#include "daemon/unwind/elf_text.h"

namespace profd::unwind {

// Whether the dynamic symbol table defines `name`. Looks in DT_GNU_HASH: a few bytes are read,
// however large the file. False where that table is missing or damaged.
[[nodiscard]] bool DefinesSymbol(ElfText& text, std::string_view name);

// Whether it is linked with shared libraries; programs that are not export nothing.
[[nodiscard]] bool NeedsLibraries(ElfText& text);

}  // namespace profd::unwind
