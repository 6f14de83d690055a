#include "daemon/python/find/section_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace profd::python {
namespace {

using unwind::DynamicSymbol;
using unwind::ElfText;

constexpr std::uint64_t kMaxSymbols = 2u << 20;
constexpr std::uint64_t kMaxNamesBytes = 64u << 20;
constexpr std::size_t kSymbolsAtOnce = 32'768;

// Copied, not fetched: the image stays small.
std::vector<Elf64_Shdr> ReadSections(const ElfText& text) {
  const ElfText::SectionTable& table = text.sections();
  std::vector<Elf64_Shdr> sections;
  if (table.count == 0) return sections;
  const auto bytes = text.image().Copy(table.offset, table.count * sizeof(Elf64_Shdr));
  if (!bytes) return sections;
  sections.resize(table.count);
  std::memcpy(sections.data(), bytes->data(), bytes->size());
  return sections;
}

// `name` with its terminating zero at `offset`.
bool IsAt(std::string_view names, std::uint64_t offset, std::string_view name) {
  return offset < names.size() && names.size() - offset > name.size() &&
         names.substr(offset, name.size()) == name && names[offset + name.size()] == '\0';
}

// The names that are looked for are long: short ones need not be compared.
void Match(const Elf64_Sym& symbol, std::string_view pool, std::span<const std::string_view> names,
           std::span<std::optional<DynamicSymbol>> found) {
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) return;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (IsAt(pool, symbol.st_name, names[i])) found[i] = {symbol.st_value, symbol.st_size};
}

}  // namespace

void FindInSymbolTable(ElfText& text, std::span<const std::string_view> names,
                       std::span<std::optional<DynamicSymbol>> found) {
  const auto sections = ReadSections(text);
  const auto table = std::find_if(sections.begin(), sections.end(), [](const Elf64_Shdr& section) {
    return section.sh_type == SHT_SYMTAB;
  });
  if (table == sections.end() || table->sh_link >= sections.size()) return;
  const Elf64_Shdr& pool_section = sections[table->sh_link];
  const std::uint64_t symbols = table->sh_size / sizeof(Elf64_Sym);
  if (symbols > kMaxSymbols || pool_section.sh_size > kMaxNamesBytes) return;
  const auto pool = text.image().Copy(pool_section.sh_offset, pool_section.sh_size);
  if (!pool) return;
  for (std::uint64_t first = 0; first < symbols; first += kSymbolsAtOnce) {
    const std::uint64_t count = std::min<std::uint64_t>(kSymbolsAtOnce, symbols - first);
    const auto bytes =
        text.image().Copy(table->sh_offset + first * sizeof(Elf64_Sym), count * sizeof(Elf64_Sym));
    if (!bytes) return;
    Elf64_Sym symbol;
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(&symbol, bytes->data() + i * sizeof symbol, sizeof symbol);
      Match(symbol, *pool, names, found);
    }
  }
}

std::optional<DynamicSymbol> FindSection(ElfText& text, std::string_view name) {
  constexpr std::uint64_t kMaxSectionNamesBytes = 1u << 20;
  const auto sections = ReadSections(text);
  const std::uint64_t names_at = text.sections().names;
  if (names_at >= sections.size() || sections[names_at].sh_size > kMaxSectionNamesBytes) return {};
  const auto names = text.image().Copy(sections[names_at].sh_offset, sections[names_at].sh_size);
  if (!names) return {};
  for (const Elf64_Shdr& section : sections)
    if ((section.sh_flags & SHF_ALLOC) != 0 && IsAt(*names, section.sh_name, name))
      return DynamicSymbol{section.sh_addr, section.sh_size};
  return {};
}

}  // namespace profd::python
