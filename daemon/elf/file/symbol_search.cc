#include "daemon/elf/file/symbol_search.h"

#include <elf.h>

#include <cstring>
#include <string>

#include "daemon/elf/file/dynamic_table.h"

namespace profd::elf {
namespace {

constexpr int kMaxChain = 4096;

// Values at addresses of the object, out of its file.
class Memory {
 public:
  explicit Memory(const ElfFile& file) : file_(file) {}

  [[nodiscard]] bool Read(std::uint64_t vaddr, std::span<char> to) const {
    const auto part = file_.PartAt(vaddr);
    return part && part->bytes >= to.size() && file_.source().Read(part->offset, to);
  }
  template <typename T>
  [[nodiscard]] std::optional<T> Get(std::uint64_t vaddr) const {
    T value;
    if (!Read(vaddr, std::span(reinterpret_cast<char*>(&value), sizeof value))) return std::nullopt;
    return value;
  }
  // Whether this text and a zero are there.
  [[nodiscard]] bool Holds(std::uint64_t vaddr, std::string_view text) const {
    std::string there(text.size() + 1, '.');
    return Read(vaddr, there) && there.starts_with(text) && there.back() == '\0';
  }

 private:
  const ElfFile& file_;
};

std::uint32_t GnuHash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char letter : name) hash = hash * 33 + static_cast<unsigned char>(letter);
  return hash;
}

// `name` with its terminating zero at `offset`.
bool IsAt(std::string_view names, std::uint64_t offset, std::string_view name) {
  return offset < names.size() && names.size() - offset > name.size() &&
         names.substr(offset, name.size()) == name && names[offset + name.size()] == '\0';
}

}  // namespace

std::optional<FoundSymbol> FindDynamicSymbol(const ElfFile& file, std::string_view name) {
  const auto dynamic = ReadDynamicTable(file);
  if (!dynamic || dynamic->hash == 0 || dynamic->symbols == 0 || dynamic->strings == 0)
    return std::nullopt;
  const Memory memory(file);
  // Buckets, first symbol in the chains, words of the Bloom filter.
  const auto buckets = memory.Get<std::uint32_t>(dynamic->hash);
  const auto first = memory.Get<std::uint32_t>(dynamic->hash + 4);
  const auto bloom_words = memory.Get<std::uint32_t>(dynamic->hash + 8);
  if (!buckets || !first || !bloom_words || *buckets == 0) return std::nullopt;
  const std::uint64_t buckets_at = dynamic->hash + 16 + 8ull * *bloom_words;
  const std::uint64_t chains_at = buckets_at + 4ull * *buckets;
  const std::uint32_t hash = GnuHash(name);
  const auto begin = memory.Get<std::uint32_t>(buckets_at + 4ull * (hash % *buckets));
  if (!begin || *begin < *first) return std::nullopt;
  for (std::uint64_t i = *begin; i < *begin + std::uint64_t{kMaxChain}; ++i) {
    const auto chain = memory.Get<std::uint32_t>(chains_at + 4 * (i - *first));
    if (!chain) return std::nullopt;
    if ((*chain | 1) == (hash | 1)) {
      const auto symbol = memory.Get<Elf64_Sym>(dynamic->symbols + i * sizeof(Elf64_Sym));
      if (!symbol) return std::nullopt;
      if (memory.Holds(dynamic->strings + symbol->st_name, name)) {
        if (symbol->st_shndx == SHN_UNDEF) return std::nullopt;
        return FoundSymbol{.vaddr = symbol->st_value,
                           .bytes = symbol->st_size,
                           .index = static_cast<std::uint32_t>(i),
                           .type = static_cast<unsigned>(ELF64_ST_TYPE(symbol->st_info))};
      }
    }
    if ((*chain & 1) != 0) return std::nullopt;
  }
  return std::nullopt;
}

bool NeedsLibraries(const ElfFile& file) {
  const auto dynamic = ReadDynamicTable(file);
  return dynamic && dynamic->needs_libraries;
}

void FindInSymbolTable(const ElfFile& file, std::span<const std::string_view> names,
                       std::span<std::optional<FoundSymbol>> found) {
  const ElfSection* table = file.FindSection(SHT_SYMTAB);
  if (table == nullptr) return;
  const auto pool = file.ReadNames(*table, "symbol names");
  if (!pool) return;
  // What was found before a damaged part counts.
  (void)file.VisitSymbols(*table, [&](const ElfSymbol& symbol) {
    if (symbol.section == SHN_UNDEF || symbol.size == 0) return;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (IsAt(*pool, symbol.name, names[i]))
        found[i] = {.vaddr = symbol.value, .bytes = symbol.size, .index = 0, .type = symbol.type};
  });
}

std::optional<FoundSymbol> FindLoadedSection(const ElfFile& file, std::string_view name) {
  for (const ElfSection& section : file.sections())
    if ((section.flags & SHF_ALLOC) != 0 && file.NameOf(section) == name)
      return FoundSymbol{.vaddr = section.vaddr, .bytes = section.bytes};
  return std::nullopt;
}

}  // namespace profd::elf
