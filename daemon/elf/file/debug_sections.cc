#include "daemon/elf/file/debug_sections.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace profd::elf {
namespace {

constexpr auto kWanted = std::to_array<std::string_view>(
    {"abbrev", "addr", "info", "line", "line_str", "ranges", "rnglists", "str", "str_offsets"});

Error Corrupt(std::string message) { return Error{ErrorCode::kCorrupt, std::move(message), ""}; }

Result<void> Unwrap(FileImage& image, const DebugSections& file, bool old_way,
                    DebugSection& section) {
  if (old_way) {  // "ZLIB" and the size, big-endian
    constexpr std::size_t kHeader = 12;
    if (section.bytes < kHeader) return Corrupt("compressed section without a header");
    const auto head = image.Fetch(section.offset, kHeader);
    if (!head) return head.error();
    if (std::memcmp(head->data(), "ZLIB", 4) != 0) return Corrupt("unknown compression");
    std::uint64_t size = 0;
    std::memcpy(&size, head->data() + 4, sizeof size);
    section.unpacked = __builtin_bswap64(size);
    section.packing = Packing::kZlib;
    section.offset += kHeader;
    section.bytes -= kHeader;
    return {};
  }
  const std::size_t header = file.is_64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
  if (section.bytes < header) return Corrupt("compressed section without a header");
  const auto head = image.Fetch(section.offset, header);
  if (!head) return head.error();
  std::uint32_t type = 0;
  std::memcpy(&type, head->data(), sizeof type);
  if (file.is_64) {
    std::memcpy(&section.unpacked, head->data() + offsetof(Elf64_Chdr, ch_size), 8);
  } else {
    std::uint32_t size = 0;
    std::memcpy(&size, head->data() + offsetof(Elf32_Chdr, ch_size), sizeof size);
    section.unpacked = file.big_endian ? __builtin_bswap32(size) : size;
  }
  if (file.big_endian) {
    type = __builtin_bswap32(type);
    if (file.is_64) section.unpacked = __builtin_bswap64(section.unpacked);
  }
  constexpr std::uint32_t kZstd = 2;
  if (type != ELFCOMPRESS_ZLIB && type != kZstd) return Corrupt("unknown compression");
  section.packing = type == ELFCOMPRESS_ZLIB ? Packing::kZlib : Packing::kZstd;
  section.offset += header;
  section.bytes -= header;
  return {};
}

}  // namespace

Result<DebugSections> FindDebugSections(FileImage& image, const ElfLimits& limits) {
  PROFD_TRY(FetchHeaders(image, limits, ElfKind::kAny));
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_memory(image.data(), image.size()), elf_end);
  GElf_Ehdr header;
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF || gelf_getehdr(elf.get(), &header) == nullptr)
    return Corrupt("ELF header: damaged");
  DebugSections file;
  file.is_64 = header.e_ident[EI_CLASS] == ELFCLASS64;
  file.big_endian = header.e_ident[EI_DATA] == ELFDATA2MSB;
  file.machine = header.e_machine;
  std::size_t count = 0;
  std::size_t names_index = 0;
  GElf_Shdr names_header;
  if (elf_getshdrnum(elf.get(), &count) != 0 || count == 0 ||
      elf_getshdrstrndx(elf.get(), &names_index) != 0 ||
      gelf_getshdr(elf_getscn(elf.get(), names_index), &names_header) == nullptr)
    return Corrupt("section headers: damaged");
  if (names_header.sh_size > limits.string_bytes)
    return BeyondBound("bytes of section names", names_header.sh_size, limits.string_bytes);
  const auto names = image.Copy(names_header.sh_offset, names_header.sh_size);
  if (!names) return names.error().Wrap("section names");

  for (std::size_t i = 1; i < std::min<std::size_t>(count, limits.sections); ++i) {
    GElf_Shdr one;
    if (gelf_getshdr(elf_getscn(elf.get(), i), &one) == nullptr)
      return Corrupt("section header: damaged");
    if (one.sh_type == SHT_NOBITS || one.sh_size == 0 || one.sh_name >= names->size()) continue;
    constexpr std::size_t kMaxName = 64;
    std::string_view name = std::string_view(*names).substr(one.sh_name, kMaxName);
    name = name.substr(0, name.find('\0'));
    const bool old_way = name.starts_with(".zdebug_");
    if (!old_way && !name.starts_with(".debug_")) continue;
    name.remove_prefix(name.find('_') + 1);
    if (!std::ranges::binary_search(kWanted, name)) continue;
    DebugSection section;
    section.name = ".debug_" + std::string(name);
    section.offset = one.sh_offset;
    section.bytes = one.sh_size;
    section.unpacked = one.sh_size;
    const bool listed =
        std::ranges::find(file.sections, section.name, &DebugSection::name) != file.sections.end();
    if (listed) continue;
    if (section.offset > image.size() || section.bytes > image.size() - section.offset)
      return Corrupt(section.name + " lies outside the file");
    if (old_way || (one.sh_flags & SHF_COMPRESSED) != 0) {
      if (auto unwrapped = Unwrap(image, file, old_way, section); !unwrapped)
        return unwrapped.error().Wrap(section.name);
    }
    if (section.unpacked > 0) file.sections.push_back(std::move(section));
  }
  return file;
}

}  // namespace profd::elf
