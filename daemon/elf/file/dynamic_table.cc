#include "daemon/elf/file/dynamic_table.h"

#include <elf.h>

#include <cstring>

namespace profd::elf {
namespace {

constexpr std::uint64_t kMaxDynamicBytes = 1u << 20;

void Take(const Elf64_Dyn& entry, DynamicTable& table) {
  switch (entry.d_tag) {
    case DT_GNU_HASH:
      table.hash = entry.d_un.d_ptr;
      return;
    case DT_SYMTAB:
      table.symbols = entry.d_un.d_ptr;
      return;
    case DT_STRTAB:
      table.strings = entry.d_un.d_ptr;
      return;
    case DT_RELA:
      table.relocations = entry.d_un.d_ptr;
      return;
    case DT_RELASZ:
      table.relocation_bytes = entry.d_un.d_val;
      return;
    case DT_JMPREL:
      table.plt_relocations = entry.d_un.d_ptr;
      return;
    case DT_PLTRELSZ:
      table.plt_relocation_bytes = entry.d_un.d_val;
      return;
    case DT_NEEDED:
      table.needs_libraries = true;
      return;
    case DT_FLAGS_1:
      table.is_program = (entry.d_un.d_val & DF_1_PIE) != 0;
      return;
    default:
      return;
  }
}

}  // namespace

std::optional<DynamicTable> ReadDynamicTable(const ElfFile& file) {
  const ElfSegment* segment = file.FindSegment(PT_DYNAMIC);
  if (!file.IsX86_64() || segment == nullptr || segment->file_bytes > kMaxDynamicBytes)
    return std::nullopt;
  const auto bytes = file.source().Copy(segment->file_offset, segment->file_bytes);
  if (!bytes) return std::nullopt;
  DynamicTable table;
  Elf64_Dyn entry;
  for (std::size_t at = 0; at + sizeof entry <= bytes->size(); at += sizeof entry) {
    std::memcpy(&entry, bytes->data() + at, sizeof entry);
    if (entry.d_tag == DT_NULL) break;
    Take(entry, table);
  }
  return table;
}

}  // namespace profd::elf
