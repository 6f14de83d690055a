// Symbols and sections by section headers, for files that export nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "daemon/unwind/cfi/dynamic_symbols.h"

namespace profd::python {

// Where each of `names` is defined by .symtab; nothing for what is not there. Reads the whole
// table, in pieces, within bounds; what is damaged is not there.
void FindInSymbolTable(unwind::ElfText& text, std::span<const std::string_view> names,
                       std::span<std::optional<unwind::DynamicSymbol>> found);

// A section that is part of the program in memory.
[[nodiscard]] std::optional<unwind::DynamicSymbol> FindSection(unwind::ElfText& text,
                                                               std::string_view name);

}  // namespace profd::python
