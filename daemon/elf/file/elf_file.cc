#include "daemon/elf/file/elf_file.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "daemon/base/files.h"

namespace profd::elf {
namespace {

constexpr std::size_t kMaxSectionName = 64;
constexpr std::uint64_t kMaxSectionNameBytes = 16u << 20;  // of all sections
constexpr std::size_t kMaxIdBytes = 64;
constexpr std::uint64_t kEntriesAtOnce = 32'768;

Error Corrupt(std::string message) { return Error{ErrorCode::kCorrupt, std::move(message), ""}; }

struct Class64 {
  using Ehdr = Elf64_Ehdr;
  using Phdr = Elf64_Phdr;
  using Shdr = Elf64_Shdr;
  using Sym = Elf64_Sym;
};

struct Class32 {
  using Ehdr = Elf32_Ehdr;
  using Phdr = Elf32_Phdr;
  using Shdr = Elf32_Shdr;
  using Sym = Elf32_Sym;
};

template <typename T>
T InHostOrder(T value, bool swap) {
  if (!swap) return value;
  if constexpr (sizeof(T) == 8) {
    return static_cast<T>(__builtin_bswap64(static_cast<std::uint64_t>(value)));
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(value)));
  } else {
    return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(value)));
  }
}

template <typename T>
T StructAt(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <typename T>
Result<T> ReadStruct(const ByteSource& source, std::uint64_t offset) {
  T value;
  PROFD_TRY(source.Read(offset, std::span<char>(reinterpret_cast<char*>(&value), sizeof value)));
  return value;
}

template <typename Shdr>
ElfSection SectionOf(const Shdr& header, bool swap) {
  ElfSection section;
  section.name = InHostOrder(header.sh_name, swap);
  section.type = InHostOrder(header.sh_type, swap);
  section.link = InHostOrder(header.sh_link, swap);
  section.info = InHostOrder(header.sh_info, swap);
  section.flags = InHostOrder(header.sh_flags, swap);
  section.vaddr = InHostOrder(header.sh_addr, swap);
  section.offset = InHostOrder(header.sh_offset, swap);
  section.bytes = InHostOrder(header.sh_size, swap);
  section.align = InHostOrder(header.sh_addralign, swap);
  section.entry_bytes = InHostOrder(header.sh_entsize, swap);
  return section;
}

std::uint64_t RoundUp(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

Error BeyondBound(const char* what, std::uint64_t have, std::uint64_t bound) {
  return Error{ErrorCode::kExhausted,
               std::string(what) + ": " + std::to_string(have) + ", more than the bound of " +
                   std::to_string(bound),
               ""};
}

bool ElfSection::compressed() const { return (flags & SHF_COMPRESSED) != 0; }

bool ElfFile::swaps() const {
  return header_.big_endian != (std::endian::native == std::endian::big);
}

bool ElfFile::IsX86_64() const {
  return header_.is_64 && !header_.big_endian && header_.machine == EM_X86_64;
}

Result<ElfFile> ElfFile::Open(const ByteSource& source, const ElfLimits& limits) {
  if (source.size() == 0) return Corrupt("empty file");
  std::array<char, EI_NIDENT> ident{};
  PROFD_TRY(source.Read(0, std::span(ident).first(std::min(source.size(), ident.size()))));
  if (source.size() < EI_NIDENT || std::memcmp(ident.data(), ELFMAG, SELFMAG) != 0)
    return Corrupt("not an ELF file");
  const char order = ident[EI_DATA];
  if (order != ELFDATA2LSB && order != ELFDATA2MSB) return Corrupt("unknown byte order");
  ElfFile file(source, limits);
  file.header_.big_endian = order == ELFDATA2MSB;
  switch (ident[EI_CLASS]) {
    case ELFCLASS64:
      PROFD_TRY(file.ReadHeaders<Class64>());
      return file;
    case ELFCLASS32:
      file.header_.is_64 = false;
      PROFD_TRY(file.ReadHeaders<Class32>());
      return file;
    default:
      return Corrupt("unknown ELF class");
  }
}

template <typename Class>
Result<void> ElfFile::ReadHeaders() {
  const auto read = ReadStruct<typename Class::Ehdr>(*source_, 0);
  if (!read) return read.error().Wrap("ELF header");
  const bool swap = swaps();
  header_.type = InHostOrder(read->e_type, swap);
  header_.machine = InHostOrder(read->e_machine, swap);
  header_.entry = InHostOrder(read->e_entry, swap);
  header_.segments_at = InHostOrder(read->e_phoff, swap);
  header_.segments = InHostOrder(read->e_phnum, swap);
  header_.sections_at = InHostOrder(read->e_shoff, swap);
  header_.sections = InHostOrder(read->e_shnum, swap);
  names_index_ = InHostOrder(read->e_shstrndx, swap);
  known_section_size_ = InHostOrder(read->e_shentsize, swap) == sizeof(typename Class::Shdr);
  ReadNumbersFromSectionZero<Class>(*read);
  return ReadSegments<Class>(*read);
}

// Section 0 holds the numbers that have no room in the ELF header.
template <typename Class>
void ElfFile::ReadNumbersFromSectionZero(const typename Class::Ehdr& header) {
  const bool swap = swaps();
  const bool many_sections = header_.sections == 0 && header_.sections_at != 0;
  if (!many_sections && header_.segments != PN_XNUM && names_index_ != SHN_XINDEX) return;
  if (!known_section_size_) return;
  const auto zero = ReadStruct<typename Class::Shdr>(*source_, header_.sections_at);
  if (!zero) {
    // Then ReadSections fails, because a table of one section lies outside, too.
    if (many_sections) header_.sections = 1;
    return;
  }
  if (many_sections) header_.sections = InHostOrder(zero->sh_size, swap);
  if (header_.segments == PN_XNUM) header_.segments = InHostOrder(zero->sh_info, swap);
  if (InHostOrder(header.e_shstrndx, swap) == SHN_XINDEX)
    names_index_ = InHostOrder(zero->sh_link, swap);
}

template <typename Class>
Result<void> ElfFile::ReadSegments(const typename Class::Ehdr& header) {
  using Phdr = typename Class::Phdr;
  const bool swap = swaps();
  if (header_.segments == 0) return {};
  if (header_.segments > limits_.segments)
    return BeyondBound("segments", header_.segments, limits_.segments);
  if (InHostOrder(header.e_phentsize, swap) != sizeof(Phdr))
    return Corrupt("program headers of an unknown size");
  const auto table = source_->Copy(header_.segments_at, header_.segments * sizeof(Phdr));
  if (!table) return table.error().Wrap("program headers");
  for (std::size_t i = 0; i < header_.segments; ++i) {
    const Phdr raw = StructAt<Phdr>(*table, i * sizeof(Phdr));
    ElfSegment segment;
    segment.type = InHostOrder(raw.p_type, swap);
    segment.executable = (InHostOrder(raw.p_flags, swap) & PF_X) != 0;
    segment.file_offset = InHostOrder(raw.p_offset, swap);
    segment.vaddr = InHostOrder(raw.p_vaddr, swap);
    segment.file_bytes = InHostOrder(raw.p_filesz, swap);
    segment.memory_bytes = InHostOrder(raw.p_memsz, swap);
    segment.align = InHostOrder(raw.p_align, swap);
    segment.in_file = source_->Holds(segment.file_offset, segment.file_bytes);
    segments_.push_back(segment);
  }
  return {};
}

const ElfSegment* ElfFile::FindSegment(std::uint32_t type) const {
  const auto found = std::ranges::find_if(segments_, [&](const ElfSegment& segment) {
    return segment.type == type && segment.in_file;
  });
  return found == segments_.end() ? nullptr : &*found;
}

std::optional<FilePart> ElfFile::PartAt(std::uint64_t vaddr) const {
  for (const ElfSegment& segment : segments_) {
    if (segment.type != PT_LOAD || !segment.in_file || vaddr < segment.vaddr) continue;
    const std::uint64_t inside = vaddr - segment.vaddr;
    if (inside >= segment.file_bytes) continue;
    return FilePart{segment.file_offset + inside, segment.file_bytes - inside};
  }
  return std::nullopt;
}

Result<void> ElfFile::ReadSections() {
  if (std::exchange(sections_read_, true)) return {};
  return header_.is_64 ? ReadSectionTable<Class64>() : ReadSectionTable<Class32>();
}

template <typename Class>
Result<void> ElfFile::ReadSectionTable() {
  using Shdr = typename Class::Shdr;
  if (header_.sections_at == 0) {
    if (header_.sections == 0) return {};
    return Corrupt("section headers are counted but not there");
  }
  if (!known_section_size_) return Corrupt("section headers of an unknown size");
  if (header_.sections > limits_.sections)
    return BeyondBound("sections", header_.sections, limits_.sections);
  const auto table = source_->Copy(header_.sections_at, header_.sections * sizeof(Shdr));
  if (!table) return table.error().Wrap("section headers");
  sections_.reserve(header_.sections);
  for (std::size_t i = 0; i < header_.sections; ++i)
    sections_.push_back(SectionOf(StructAt<Shdr>(*table, i * sizeof(Shdr)), swaps()));
  if (names_index_ >= sections_.size()) return {};
  const ElfSection& names = sections_[names_index_];
  if (names.type != SHT_STRTAB || names.bytes > kMaxSectionNameBytes) return {};
  if (auto read = source_->Copy(names.offset, names.bytes)) section_names_ = *std::move(read);
  return {};
}

std::string_view ElfFile::NameOf(const ElfSection& section) const {
  if (section.name >= section_names_.size()) return {};
  const auto rest = std::string_view(section_names_).substr(section.name, kMaxSectionName);
  return rest.substr(0, rest.find('\0'));
}

const ElfSection* ElfFile::FindSection(std::string_view name) const {
  const auto found = std::ranges::find(
      sections_, name, [this](const ElfSection& section) { return NameOf(section); });
  return found == sections_.end() || found->type == SHT_NOBITS ? nullptr : &*found;
}

const ElfSection* ElfFile::FindSection(std::uint32_t type) const {
  const auto found = std::ranges::find(sections_, type, &ElfSection::type);
  return found == sections_.end() ? nullptr : &*found;
}

Result<std::string> ElfFile::ReadNames(const ElfSection& section, const char* what) const {
  if (section.link == 0 || section.link >= sections_.size() ||
      sections_[section.link].type != SHT_STRTAB)
    return Corrupt("symbol table: no table of names");
  const ElfSection& strings = sections_[section.link];
  if (strings.bytes > limits_.string_bytes)
    return BeyondBound((std::string("bytes of ") + what).c_str(), strings.bytes,
                       limits_.string_bytes);
  auto names = source_->Copy(strings.offset, strings.bytes);
  if (!names) return names.error().Wrap(what);
  return names;
}

Result<void> ElfFile::VisitSymbols(const ElfSection& table, const SymbolVisitor& visit) const {
  return header_.is_64 ? VisitSymbolsOf<Class64>(table, visit)
                       : VisitSymbolsOf<Class32>(table, visit);
}

template <typename Class>
Result<void> ElfFile::VisitSymbolsOf(const ElfSection& table, const SymbolVisitor& visit) const {
  using Sym = typename Class::Sym;
  const bool swap = swaps();
  if (table.entry_bytes != sizeof(Sym)) return Corrupt("symbol table: entries of unknown size");
  if (table.compressed()) return Corrupt("symbol table: compressed");
  const std::uint64_t count = table.bytes / sizeof(Sym);
  if (count > limits_.symbols) return BeyondBound("symbols", count, limits_.symbols);
  if (!source_->Holds(table.offset, count * sizeof(Sym)))
    return Corrupt("symbol table: outside the file");
  // Section numbers beyond 65,279 are in a table of their own.
  const ElfSection* extended = ExtendedIndexesOf(table);
  std::string indexes;
  for (std::uint64_t first = 0; first < count; first += kEntriesAtOnce) {
    const std::uint64_t piece = std::min(kEntriesAtOnce, count - first);
    const auto symbols = source_->Copy(table.offset + first * sizeof(Sym), piece * sizeof(Sym));
    if (!symbols) return symbols.error().Wrap("symbol table");
    if (extended != nullptr) {
      auto read = source_->Copy(extended->offset + first * sizeof(std::uint32_t),
                                piece * sizeof(std::uint32_t));
      indexes = read ? *std::move(read) : std::string();
    }
    for (std::uint64_t i = first == 0 ? 1 : 0; i < piece; ++i) {
      const Sym raw = StructAt<Sym>(*symbols, i * sizeof(Sym));
      ElfSymbol symbol;
      symbol.index = first + i;
      symbol.value = InHostOrder(raw.st_value, swap);
      symbol.size = InHostOrder(raw.st_size, swap);
      symbol.name = InHostOrder(raw.st_name, swap);
      symbol.type = ELF64_ST_TYPE(raw.st_info);
      symbol.bind = ELF64_ST_BIND(raw.st_info);
      symbol.section = InHostOrder(raw.st_shndx, swap);
      if (symbol.section == SHN_XINDEX && !indexes.empty()) {
        symbol.section =
            InHostOrder(StructAt<std::uint32_t>(indexes, i * sizeof(std::uint32_t)), swap);
      } else if (symbol.section >= SHN_LORESERVE) {
        symbol.section = ElfSymbol::kNoSection;
      }
      visit(symbol);
    }
  }
  return {};
}

const ElfSection* ElfFile::ExtendedIndexesOf(const ElfSection& table) const {
  const auto index = static_cast<std::size_t>(&table - sections_.data());
  const auto found = std::ranges::find_if(sections_, [&](const ElfSection& section) {
    return section.type == SHT_SYMTAB_SHNDX && section.link == index;
  });
  return found == sections_.end() ? nullptr : &*found;
}

void ElfFile::VisitRelocations(const ElfSection& table, const RelocationVisitor& visit) const {
  if (table.type != SHT_RELA || table.compressed() || !header_.is_64) return;
  const std::uint64_t count = std::min(table.bytes / sizeof(Elf64_Rela), limits_.symbols);
  if (!source_->Holds(table.offset, table.bytes)) return;
  for (std::uint64_t first = 0; first < count; first += kEntriesAtOnce) {
    const std::uint64_t piece = std::min(kEntriesAtOnce, count - first);
    const auto bytes =
        source_->Copy(table.offset + first * sizeof(Elf64_Rela), piece * sizeof(Elf64_Rela));
    if (!bytes) return;
    for (std::uint64_t i = 0; i < piece; ++i) {
      const auto raw = StructAt<Elf64_Rela>(*bytes, i * sizeof(Elf64_Rela));
      const std::uint64_t info = InHostOrder(raw.r_info, swaps());
      visit({InHostOrder(raw.r_offset, swaps()), static_cast<std::uint32_t>(ELF64_R_TYPE(info)),
             static_cast<std::uint32_t>(ELF64_R_SYM(info)),
             static_cast<std::uint64_t>(InHostOrder(raw.r_addend, swaps()))});
    }
  }
}

// A list of addresses, each followed by bits for the 63 words behind it.
void ElfFile::VisitPackedRelocations(const ElfSection& table,
                                     const std::function<void(std::uint64_t)>& visit) const {
  constexpr std::uint32_t kPackedRelative = 19;  // SHT_RELR
  constexpr std::uint64_t kWordBytes = sizeof(std::uint64_t);
  constexpr std::uint64_t kBits = 63;
  if (table.type != kPackedRelative || table.compressed() || !header_.is_64 ||
      !source_->Holds(table.offset, table.bytes))
    return;
  std::uint64_t left = limits_.symbols;
  std::uint64_t next = 0;
  const std::uint64_t count = table.bytes / kWordBytes;
  for (std::uint64_t first = 0; first < count; first += kEntriesAtOnce) {
    const std::uint64_t piece = std::min(kEntriesAtOnce, count - first);
    const auto bytes = source_->Copy(table.offset + first * kWordBytes, piece * kWordBytes);
    if (!bytes) return;
    for (std::uint64_t i = 0; i < piece; ++i) {
      const auto entry = InHostOrder(StructAt<std::uint64_t>(*bytes, i * kWordBytes), swaps());
      const bool is_address = (entry & 1) == 0;
      const std::uint64_t words = is_address ? 1 : entry >> 1;
      const std::uint64_t begin = is_address ? entry : next;
      for (std::uint64_t bit = 0; bit < kBits; ++bit) {
        if ((words >> bit & 1) == 0) continue;
        if (left-- == 0) return;
        visit(begin + bit * kWordBytes);
      }
      next = begin + (is_address ? 1 : kBits) * kWordBytes;
    }
  }
}

Result<ElfCompression> ElfFile::ReadCompression(std::uint64_t offset, std::uint64_t bytes) const {
  const auto read = [&]<typename Chdr>(Chdr) -> Result<ElfCompression> {
    if (bytes < sizeof(Chdr)) return Corrupt("compressed section without a header");
    const auto header = ReadStruct<Chdr>(*source_, offset);
    if (!header) return header.error();
    return ElfCompression{InHostOrder(header->ch_type, swaps()),
                          InHostOrder(header->ch_size, swaps()), sizeof(Chdr)};
  };
  return header_.is_64 ? read(Elf64_Chdr{}) : read(Elf32_Chdr{});
}

std::string ElfFile::BuildId() const {
  std::uint64_t bytes_left = limits_.note_bytes;
  for (const ElfSegment& segment : segments_) {
    if (segment.type != PT_NOTE) continue;
    auto id = BuildIdIn(segment.file_offset, segment.file_bytes, segment.align, bytes_left);
    if (!id.empty()) return id;
  }
  for (const ElfSection& section : sections_) {
    if (section.type != SHT_NOTE) continue;
    auto id = BuildIdIn(section.offset, section.bytes, section.align, bytes_left);
    if (!id.empty()) return id;
  }
  return "";
}

std::string ElfFile::BuildIdIn(std::uint64_t offset, std::uint64_t bytes, std::uint64_t align,
                               std::uint64_t& bytes_left) const {
  if (bytes < sizeof(Elf64_Nhdr) || bytes > bytes_left) return "";
  bytes_left -= bytes;
  const auto notes = source_->Copy(offset, bytes);
  if (!notes) return "";
  const std::uint64_t padded = align == 8 ? 8 : 4;
  // Both classes have the same header of a note, of three words.
  for (std::uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= bytes;) {
    const auto note = StructAt<Elf64_Nhdr>(*notes, at);
    const std::uint64_t name_bytes = InHostOrder(note.n_namesz, swaps());
    const std::uint64_t id_bytes = InHostOrder(note.n_descsz, swaps());
    const std::uint64_t name_at = at + sizeof note;
    const std::uint64_t id_at = RoundUp(name_at + name_bytes, padded);
    if (id_at > bytes || id_bytes > bytes - id_at) return "";
    const std::string_view name = std::string_view(*notes).substr(name_at, name_bytes);
    if (InHostOrder(note.n_type, swaps()) == NT_GNU_BUILD_ID &&
        name == std::string_view(ELF_NOTE_GNU, sizeof ELF_NOTE_GNU))
      return HexBytes(
          std::string_view(*notes).substr(id_at, std::min<std::uint64_t>(id_bytes, kMaxIdBytes)));
    at = RoundUp(id_at + id_bytes, padded);
  }
  return "";
}

}  // namespace profd::elf
