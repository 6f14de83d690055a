#include "daemon/unwind/code/code_starts.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "daemon/elf/file/byte_window.h"

namespace profd::unwind {
namespace {

bool MayBegin(const elf::ElfSymbol& symbol) {
  if (symbol.section == 0 || symbol.section == elf::ElfSymbol::kNoSection) return false;
  if (symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC) return true;
  return symbol.type == STT_NOTYPE && symbol.bind == STB_GLOBAL;  // from assembly
}

// Of the symbols that relocations of `table` have numbers of; 0: it is another file's.
std::vector<std::uint64_t> SymbolAddresses(const elf::ElfFile& file, const elf::ElfSection& table) {
  std::vector<std::uint64_t> addresses(1);
  if (table.link >= file.sections().size()) return addresses;
  // Symbols behind a damaged part have none.
  (void)file.VisitSymbols(file.sections()[table.link], [&](const elf::ElfSymbol& symbol) {
    const bool is_here = symbol.section != 0 && symbol.section != elf::ElfSymbol::kNoSection;
    addresses.push_back(is_here ? symbol.value : 0);
  });
  return addresses;
}

}  // namespace

CodeStarts CodeStarts::Read(elf::ElfFile& file,
                            const std::function<bool(std::uint64_t)>& is_covered) {
  CodeStarts starts;
  starts.source_ = &file.source();
  if (!file.ReadSections()) return starts;
  std::vector<CodeRange> code;
  for (const elf::ElfSection& section : file.sections())
    if ((section.flags & SHF_EXECINSTR) != 0) code.push_back({section.vaddr, section.vaddr_end()});
  const auto is_wanted = [&](std::uint64_t address) {
    return std::ranges::any_of(code,
                               [&](const CodeRange& range) { return range.holds(address); }) &&
           !is_covered(address);
  };
  for (const elf::ElfSection& section : file.sections()) {
    if (section.type == SHT_SYMTAB || section.type == SHT_DYNSYM)
      starts.ReadSymbols(file, section, is_wanted);
    starts.ReadReferences(file, section, is_wanted);
  }
  std::ranges::sort(starts.symbols_, {}, &Symbol::address);
  std::ranges::sort(starts.references_);
  const auto again = std::ranges::unique(starts.references_);
  starts.references_.erase(again.begin(), again.end());
  return starts;
}

void CodeStarts::ReadSymbols(const elf::ElfFile& file, const elf::ElfSection& table,
                             const std::function<bool(std::uint64_t)>& is_wanted) {
  if (table.link >= file.sections().size()) return;
  const std::uint64_t names = file.sections()[table.link].offset;
  (void)file.VisitSymbols(table, [&](const elf::ElfSymbol& symbol) {
    if (MayBegin(symbol) && is_wanted(symbol.value))
      symbols_.push_back({symbol.value, names + symbol.name});
  });
}

void CodeStarts::ReadReferences(const elf::ElfFile& file, const elf::ElfSection& table,
                                const std::function<bool(std::uint64_t)>& is_wanted) {
  const auto add = [&](std::uint64_t address) {
    if (is_wanted(address)) references_.push_back(address);
  };
  std::vector<std::uint64_t> symbols;  // their addresses by their numbers, once it has any
  file.VisitRelocations(table, [&](const elf::ElfRelocation& relocation) {
    if (relocation.type == R_X86_64_RELATIVE) add(relocation.addend);
    if (relocation.type != R_X86_64_64) return;
    if (symbols.empty()) symbols = SymbolAddresses(file, table);
    // Symbols of other files have none.
    if (relocation.symbol < symbols.size() && symbols[relocation.symbol] != 0)
      add(symbols[relocation.symbol] + relocation.addend);
  });
  elf::ByteWindow words(file.source());
  file.VisitPackedRelocations(table, [&](std::uint64_t vaddr) {
    const auto part = file.PartAt(vaddr);
    if (!part || part->bytes < sizeof(std::uint64_t)) return;
    const std::string_view bytes = words.At(part->offset, sizeof(std::uint64_t));
    std::uint64_t address = 0;
    if (bytes.size() < sizeof address) return;
    std::memcpy(&address, bytes.data(), sizeof address);
    add(address);
  });
}

bool CodeStarts::IsPart(const Symbol& symbol) const {
  std::array<char, 256> name{};
  if (symbol.name >= source_->size()) return false;
  const std::size_t bytes = std::min<std::uint64_t>(name.size() - 1, source_->size() - symbol.name);
  if (!source_->Read(symbol.name, std::span(name).first(bytes))) return false;
  return std::string_view(name.data()).find(".cold") != std::string_view::npos;
}

CodeBegin CodeStarts::BeginAt(std::uint64_t address) const {
  const auto symbol = std::ranges::lower_bound(symbols_, address, {}, &Symbol::address);
  if (symbol == symbols_.end() || symbol->address != address) return CodeBegin::kNothing;
  return IsPart(*symbol) ? CodeBegin::kPart : CodeBegin::kFunction;
}

std::vector<std::uint64_t> CodeStarts::Listed(std::uint64_t begin, std::uint64_t end) const {
  std::vector<std::uint64_t> listed;
  auto symbol = std::ranges::lower_bound(symbols_, begin, {}, &Symbol::address);
  for (; symbol != symbols_.end() && symbol->address < end; ++symbol)
    if ((listed.empty() || listed.back() != symbol->address) && !IsPart(*symbol))
      listed.push_back(symbol->address);
  return listed;
}

std::optional<std::uint64_t> CodeStarts::LastListed(std::uint64_t begin, std::uint64_t end) const {
  auto symbol = std::ranges::upper_bound(symbols_, end, {}, &Symbol::address);
  while (symbol != symbols_.begin() && std::prev(symbol)->address >= begin) {
    --symbol;
    if (!IsPart(*symbol)) return symbol->address;
  }
  return std::nullopt;
}

std::span<const std::uint64_t> CodeStarts::Referenced(std::uint64_t begin,
                                                      std::uint64_t end) const {
  const auto first = std::ranges::lower_bound(references_, begin);
  return {first, std::ranges::lower_bound(references_, end)};
}

std::uint64_t CodeStarts::bytes() const {
  return symbols_.capacity() * sizeof(Symbol) + references_.capacity() * sizeof(std::uint64_t);
}

}  // namespace profd::unwind
