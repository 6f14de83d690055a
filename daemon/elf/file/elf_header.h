// NewElfHeader: how the header of an ELF file begins that profd makes, for libraries that read only
// such files.
#pragma once

#include <elf.h>

#include <cstring>

namespace profd::elf {

// 64 bits, little-endian; the ELF specification has the fields. Without segments and sections.
[[nodiscard]] inline Elf64_Ehdr NewElfHeader(Elf64_Half machine) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  return header;
}

}  // namespace profd::elf
