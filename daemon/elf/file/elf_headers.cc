#include "daemon/elf/file/elf_headers.h"

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

namespace profd::elf {
namespace {

Error Corrupt(std::string message) { return Error{ErrorCode::kCorrupt, std::move(message), ""}; }

template <typename T>
T InHostOrder(T value, bool swap) {
  if (!swap) return value;
  if constexpr (sizeof(T) == 8) {
    return __builtin_bswap64(value);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bswap32(value);
  } else {
    return __builtin_bswap16(value);
  }
}

template <typename Ehdr, typename Phdr, typename Shdr>
Result<void> FetchHeaders(FileImage& image, bool swap, const ElfLimits& limits, ElfKind kind) {
  const auto bytes = image.Fetch(0, sizeof(Ehdr));
  if (!bytes) return bytes.error().Wrap("ELF header");
  Ehdr header;
  std::memcpy(&header, bytes->data(), sizeof header);
  const std::uint16_t type = InHostOrder(header.e_type, swap);
  if (kind == ElfKind::kLoadable && type != ET_EXEC && type != ET_DYN)
    return Corrupt("neither a program nor a shared library");

  const std::uint64_t sections_at = InHostOrder(header.e_shoff, swap);
  std::uint64_t sections = InHostOrder(header.e_shnum, swap);
  std::uint64_t segments = InHostOrder(header.e_phnum, swap);
  if (sections_at != 0) {
    if (InHostOrder(header.e_shentsize, swap) != sizeof(Shdr))
      return Corrupt("section headers of an unknown size");
    const auto first = image.Fetch(sections_at, sizeof(Shdr));
    if (!first) return first.error().Wrap("section headers");
    Shdr section;
    std::memcpy(&section, first->data(), sizeof section);
    // Section 0 holds the numbers that have no room in the ELF header.
    if (sections == 0) sections = InHostOrder(section.sh_size, swap);
    if (segments == PN_XNUM) segments = InHostOrder(section.sh_info, swap);
    if (sections > limits.sections) return BeyondBound("sections", sections, limits.sections);
    const auto table = image.Fetch(sections_at, sections * sizeof(Shdr));
    if (!table) return table.error().Wrap("section headers");
  } else if (sections != 0) {
    return Corrupt("section headers are counted but not there");
  }
  if (segments == 0) return {};
  if (segments > limits.segments) return BeyondBound("segments", segments, limits.segments);
  if (InHostOrder(header.e_phentsize, swap) != sizeof(Phdr))
    return Corrupt("program headers of an unknown size");
  const auto table = image.Fetch(InHostOrder(header.e_phoff, swap), segments * sizeof(Phdr));
  if (!table) return table.error().Wrap("program headers");
  return {};
}

}  // namespace

Result<void> FetchHeaders(FileImage& image, const ElfLimits& limits, ElfKind kind) {
  const auto ident = image.Fetch(0, std::min<std::uint64_t>(EI_NIDENT, image.size()));
  if (!ident) return ident.error();
  if (ident->size() < EI_NIDENT || std::memcmp(ident->data(), ELFMAG, SELFMAG) != 0)
    return Corrupt("not an ELF file");
  const char order = (*ident)[EI_DATA];
  if (order != ELFDATA2LSB && order != ELFDATA2MSB) return Corrupt("unknown byte order");
  const bool swap = (order == ELFDATA2LSB) != (std::endian::native == std::endian::little);
  switch ((*ident)[EI_CLASS]) {
    case ELFCLASS64:
      return FetchHeaders<Elf64_Ehdr, Elf64_Phdr, Elf64_Shdr>(image, swap, limits, kind);
    case ELFCLASS32:
      return FetchHeaders<Elf32_Ehdr, Elf32_Phdr, Elf32_Shdr>(image, swap, limits, kind);
    default:
      return Corrupt("unknown ELF class");
  }
}

Error BeyondBound(const char* what, std::uint64_t have, std::uint64_t bound) {
  return Error{ErrorCode::kExhausted,
               std::string(what) + ": " + std::to_string(have) + ", more than the bound of " +
                   std::to_string(bound),
               ""};
}

}  // namespace profd::elf
