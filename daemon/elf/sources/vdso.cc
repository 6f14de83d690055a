#include "daemon/elf/sources/vdso.h"

#include <elf.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/elf/file/elf_reader.h"

namespace profd::elf {

Result<std::span<const std::byte>> OwnVdsoBytes() {
  const std::uint64_t address = ::getauxval(AT_SYSINFO_EHDR);
  const auto* start =
      reinterpret_cast<const std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
  if (start == nullptr) return Error{ErrorCode::kNotFound, "this kernel maps no vdso", ""};
  // The kernel's own, so trusted. It ends with the section headers, or with what a section holds.
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(start);
  std::uint64_t bytes = header->e_shoff + std::uint64_t{header->e_shnum} * sizeof(Elf64_Shdr);
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(start + header->e_phoff);
  for (const Elf64_Phdr& segment : std::span(segments, header->e_phnum))
    bytes = std::max(bytes, segment.p_offset + segment.p_filesz);
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(start + header->e_shoff);
  for (const Elf64_Shdr& section : std::span(sections, header->e_shnum)) {
    if (section.sh_type != SHT_NOBITS) bytes = std::max(bytes, section.sh_offset + section.sh_size);
  }
  return std::span(start, bytes);
}

Result<ObjectRef> ReadOwnVdso() {
  const auto bytes = OwnVdsoBytes();
  if (!bytes) return bytes.error();
  return ReadElf(*bytes);
}

}  // namespace profd::elf
