#include "daemon/elf/symbols/data_words.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

namespace profd::elf {
namespace {

constexpr std::uint64_t kWordBytes = 8;
constexpr std::uint64_t kHeaderBytes = 16;  // of a vtable, before its functions

constexpr std::array<std::string_view, 3> kTypeVtables{"_ZTVN10__cxxabiv117__class_type_infoE",
                                                       "_ZTVN10__cxxabiv120__si_class_type_infoE",
                                                       "_ZTVN10__cxxabiv121__vmi_class_type_infoE"};

TypeKind KindOf(std::string_view name) {
  for (std::size_t i = 0; i < kTypeVtables.size(); ++i)
    if (name.starts_with(kTypeVtables.at(i)) && name.size() > kTypeVtables.at(i).size() &&
        name[kTypeVtables.at(i).size()] == '\0')
      return static_cast<TypeKind>(i + 1);
  return TypeKind::kNone;
}

std::uint32_t Pointer(std::uint64_t vaddr) {
  return vaddr < DataWords::kFirstMark ? static_cast<std::uint32_t>(vaddr) : 0;
}

// Of each symbol of .dynsym its address or mark; of the vtables that describe types their marks,
// also by their addresses.
struct Symbols {
  std::vector<std::uint32_t> words;
  TypeVtables type_vtables{};
  bool any_type = false;
};

Symbols ReadSymbols(const ElfFile& file, std::size_t most) {
  Symbols symbols;
  symbols.words.resize(1);
  const ElfSection* table = file.FindSection(SHT_DYNSYM);
  if (table == nullptr || table->link >= file.sections().size()) return symbols;
  const ElfSection& strings = file.sections()[table->link];
  ByteWindow names(file.source());
  constexpr std::size_t kLongest = 48;
  // What was read before a damaged part counts; symbols behind it are in no relocation.
  (void)file.VisitSymbols(*table, [&](const ElfSymbol& symbol) {
    if (symbols.words.size() >= most) return;
    const std::string_view name =
        symbol.type == STT_FUNC ? "" : names.At(strings.offset + symbol.name, kLongest);
    const TypeKind kind = KindOf(name);
    if (kind != TypeKind::kNone) {
      symbols.any_type = true;
      symbols.words.push_back(DataWords::MarkOf(kind));
      if (symbol.section != SHN_UNDEF)
        symbols.type_vtables.at(static_cast<std::size_t>(kind)) = symbol.value;
    } else {
      symbols.words.push_back(symbol.section == SHN_UNDEF ? DataWords::kImported
                                                          : Pointer(symbol.value));
    }
  });
  return symbols;
}

// Where the names of the classes that describe types are; 0: not in this file.
TypeVtables FindTypeNames(const ElfFile& file) {
  constexpr std::uint64_t kMaxBytes = 256u << 20;
  constexpr std::size_t kBefore = std::string_view("_ZTV").size();
  TypeVtables names{};
  ByteWindow window(file.source());
  for (const ElfSection& section : file.sections()) {
    if (section.type != SHT_PROGBITS || section.compressed() || section.bytes > kMaxBytes ||
        (section.flags & (SHF_ALLOC | SHF_EXECINSTR | SHF_WRITE)) != SHF_ALLOC)
      continue;
    // Pieces overlap, so that a name is whole in one of them.
    constexpr std::size_t kStep = ByteWindow::kPieceBytes / 2;
    for (std::uint64_t at = 0; at < section.bytes; at += kStep) {
      const std::string_view piece =
          window.At(section.offset + at,
                    std::min<std::uint64_t>(ByteWindow::kPieceBytes, section.bytes - at));
      for (std::size_t i = 0; i < kTypeVtables.size(); ++i) {
        const std::string name = std::string(kTypeVtables.at(i).substr(kBefore)) + '\0';
        const std::size_t found = piece.find(name);
        if (found != std::string_view::npos) names.at(i + 1) = section.vaddr + at + found;
      }
    }
  }
  return names;
}

bool HoldsPointers(const ElfFile& file, const ElfSection& section) {
  if (section.type != SHT_PROGBITS || section.compressed() ||
      (section.flags & (SHF_ALLOC | SHF_EXECINSTR)) != SHF_ALLOC)
    return false;
  const std::string_view name = file.NameOf(section);
  return name.starts_with(".data.rel.ro") ||
         (file.header().type == ET_EXEC && name.starts_with(".rodata"));
}

}  // namespace

std::optional<DataWords> DataWords::Read(const ElfFile& file, std::size_t max_words) {
  DataWords words(file.source());
  std::size_t count = 0;
  for (const ElfSection& section : file.sections()) {
    if (!HoldsPointers(file, section) || section.bytes < kWordBytes) continue;
    if (section.vaddr % kWordBytes != 0 || section.vaddr_end() >= kFirstMark ||
        !file.source().Holds(section.offset, section.bytes))
      return std::nullopt;
    words.sections_.push_back({section.vaddr, section.offset, count, section.bytes / kWordBytes});
    count += section.bytes / kWordBytes;
    if (count > max_words) return std::nullopt;
  }
  if (count == 0) return std::nullopt;
  for (const ElfSection& section : file.sections())
    if (section.type == SHT_RELA && section.bytes / sizeof(Elf64_Rela) > file.limits().symbols)
      return std::nullopt;
  std::ranges::sort(words.sections_, {}, &Section::vaddr);
  count = 0;
  for (Section& section : words.sections_) {
    section.first = count;
    count += section.count;
    words.end_ = std::max(words.end_, section.vaddr + section.count * kWordBytes);
  }
  words.words_.resize(count);
  const Symbols symbols = ReadSymbols(file, max_words);
  if (file.header().type == ET_EXEC) words.ReadPlain(file);
  words.Relocate(file, symbols.words);
  words.MarkTypes(symbols.type_vtables);
  if (!symbols.any_type) words.MarkTypes(words.FindTypes(file));
  return words;
}

// Where such a vtable is in this file, or was copied to it, its address is as good as its symbol.
void DataWords::MarkTypes(const TypeVtables& vtables) {
  for (std::uint32_t& word : words_)
    for (std::size_t kind = 1; kind < vtables.size(); ++kind)
      if (vtables.at(kind) != 0 && word == vtables.at(kind) + kHeaderBytes)
        word = MarkOf(static_cast<TypeKind>(kind));
}

// In a file that has the C++ run time in itself: by the names of these types, the objects that have
// the names, and the vtables that point to the objects.
TypeVtables DataWords::FindTypes(const ElfFile& file) {
  const TypeVtables names = FindTypeNames(file);
  TypeVtables types{};
  TypeVtables vtables{};
  const auto kind_in = [](const TypeVtables& all, std::uint32_t word) {
    const auto found = word == 0 ? all.end() : std::ranges::find(all, word);
    return found == all.end() ? std::size_t{0} : static_cast<std::size_t>(found - all.begin());
  };
  for (std::size_t i = 1; i < words_.size(); ++i)
    if (const std::size_t kind = kind_in(names, words_[i]); kind != 0)
      types.at(kind) = VaddrOf(i) - kWordBytes;
  for (std::size_t i = 1; i < words_.size(); ++i)
    if (const std::size_t kind = kind_in(types, words_[i]);
        kind != 0 && words_[i - 1] == 0 && NumberAt(i - 1) == 0)
      vtables.at(kind) = VaddrOf(i) - kWordBytes;
  return vtables;
}

std::optional<std::size_t> DataWords::IndexOf(std::uint64_t vaddr) const {
  const auto after = std::ranges::upper_bound(sections_, vaddr, {}, &Section::vaddr);
  if (after == sections_.begin()) return std::nullopt;
  const Section& section = *std::prev(after);
  const std::uint64_t index = (vaddr - section.vaddr) / kWordBytes;
  if (vaddr % kWordBytes != 0 || index >= section.count) return std::nullopt;
  return section.first + index;
}

const DataWords::Section& DataWords::SectionOf(std::size_t index) const {
  return *std::prev(std::ranges::upper_bound(sections_, index, {}, &Section::first));
}

std::uint64_t DataWords::VaddrOf(std::size_t index) const {
  const Section& section = SectionOf(index);
  return section.vaddr + (index - section.first) * kWordBytes;
}

std::size_t DataWords::EndOf(std::size_t index) const {
  const Section& section = SectionOf(index);
  return section.first + section.count;
}

std::uint64_t DataWords::NumberAt(std::size_t index) {
  const Section& section = SectionOf(index);
  const std::string_view bytes =
      window_.At(section.offset + (index - section.first) * kWordBytes, kWordBytes);
  std::uint64_t number = 0;
  if (bytes.size() == sizeof number) std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

void DataWords::ReadPlain(const ElfFile& file) {
  std::uint64_t begin = kFirstMark;
  std::uint64_t end = 0;
  for (const ElfSegment& segment : file.segments()) {
    if (segment.type != PT_LOAD || !segment.in_file) continue;
    begin = std::min(begin, segment.vaddr);
    end = std::max(end, segment.vaddr + std::min(segment.file_bytes, ~segment.vaddr));
  }
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const std::uint64_t number = NumberAt(i);
    if (number >= begin && number < std::min<std::uint64_t>(end, kFirstMark))
      words_[i] = static_cast<std::uint32_t>(number);
  }
}

void DataWords::Relocate(const ElfFile& file, const std::vector<std::uint32_t>& symbols) {
  for (const ElfSection& section : file.sections()) {
    if ((section.flags & SHF_ALLOC) == 0) continue;
    RelocatePacked(file, section);
    file.VisitRelocations(section, [&](const ElfRelocation& relocation) {
      const auto index = IndexOf(relocation.offset);
      if (!index) return;
      std::uint32_t& word = words_[*index];
      word = kImported;  // what is not understood is no pointer into this file
      if (relocation.type == R_X86_64_RELATIVE) word = Pointer(relocation.addend);
      if (relocation.type != R_X86_64_64 || relocation.symbol >= symbols.size()) return;
      const std::uint32_t symbol = symbols[relocation.symbol];
      if (symbol < kFirstMark)
        word = Pointer(symbol + relocation.addend);
      else if (symbol != kImported && relocation.addend == kHeaderBytes)
        word = symbol;
    });
  }
}

void DataWords::RelocatePacked(const ElfFile& file, const ElfSection& table) {
  file.VisitPackedRelocations(table, [&](std::uint64_t vaddr) {
    if (const auto index = IndexOf(vaddr)) words_[*index] = Pointer(NumberAt(*index));
  });
}

}  // namespace profd::elf
