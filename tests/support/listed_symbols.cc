#include "tests/support/listed_symbols.h"

#include <sstream>

#include "tests/support/subprocess.h"

namespace profd::testing {

std::vector<ListedSymbol> ListSymbols(const std::string& path, bool dynamic) {
  const auto outcome = Run({"readelf", "--wide", dynamic ? "--dyn-syms" : "--symbols", path});
  std::vector<ListedSymbol> symbols;
  std::istringstream lines(outcome.out);
  bool wanted = dynamic;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Symbol table"))
      wanted = dynamic == (line.find("'.dynsym'") != std::string::npos);
    std::istringstream fields(line);
    std::string number, start, size, type, bind, visibility, section, name;
    if (!wanted ||
        !(fields >> number >> start >> size >> type >> bind >> visibility >> section >> name))
      continue;
    const bool function = type == "FUNC" || type == "IFUNC";
    if (section == "UND" || (!function && (type != "NOTYPE" || bind == "LOCAL"))) continue;
    ListedSymbol symbol;
    symbol.start = std::stoull(start, nullptr, 16);
    symbol.size = std::stoull(size, nullptr, size.starts_with("0x") ? 16 : 10);
    symbol.name = name.substr(0, name.find('@', 1));
    symbol.function = function;
    symbols.push_back(symbol);
  }
  return symbols;
}

}  // namespace profd::testing
