#include "daemon/unwind/code/code_starts.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace profd::unwind {
namespace {

bool MayBegin(const elf::ElfSymbol& symbol) {
  if (symbol.section == 0 || symbol.section == elf::ElfSymbol::kNoSection) return false;
  if (symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC) return true;
  return symbol.type == STT_NOTYPE && symbol.bind == STB_GLOBAL;  // from assembly
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
    if (section.type == SHT_RELA)
      file.VisitRelocations(section, [&](const elf::ElfRelocation& relocation) {
        if (relocation.type == R_X86_64_RELATIVE && is_wanted(relocation.addend))
          starts.references_.push_back(relocation.addend);
      });
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
