// ListedSymbols: what binutils reads of a file's symbols, to compare with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace profd::testing {

struct ListedSymbol {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  std::string name;  // without its version
  bool function = false;
};

// The symbols that may name code, as `readelf` lists them: of .dynsym, or of .symtab.
[[nodiscard]] std::vector<ListedSymbol> ListSymbols(const std::string& path, bool dynamic);

}  // namespace profd::testing
