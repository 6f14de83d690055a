#include "daemon/elf/file/tls_variable.h"

#include <elf.h>

#include <optional>
#include <string>

#include "daemon/elf/file/dynamic_table.h"
#include "daemon/elf/file/symbol_search.h"

namespace profd::elf {
namespace {

std::optional<TlsVariable::Access> AccessBy(std::uint32_t relocation) {
  switch (relocation) {
    case R_X86_64_TPOFF64:
      return TlsVariable::Access::kOffsetWord;
    case R_X86_64_DTPMOD64:
      return TlsVariable::Access::kIndexWords;
    case R_X86_64_TLSDESC:
      return TlsVariable::Access::kDescriptor;
    default:
      return std::nullopt;
  }
}

// The first relocation of a part of the file that says where the symbol is.
std::optional<TlsVariable> FindIn(const ElfFile& file, std::uint64_t vaddr, std::uint64_t bytes,
                                  std::uint32_t symbol) {
  const auto part = file.PartAt(vaddr);
  if (vaddr == 0 || !part || part->bytes < bytes) return std::nullopt;
  ElfSection table;
  table.type = SHT_RELA;
  table.offset = part->offset;
  table.bytes = bytes;
  table.entry_bytes = sizeof(Elf64_Rela);
  std::optional<TlsVariable> found;
  file.VisitRelocations(table, [&](const ElfRelocation& relocation) {
    if (found || relocation.symbol != symbol) return;
    if (const auto access = AccessBy(relocation.type))
      found = TlsVariable{.access = *access, .offset = 0, .vaddr = relocation.offset};
  });
  return found;
}

// Below the thread pointer, which is aligned as the block of the program is.
std::optional<std::int64_t> OffsetInProgram(const ElfFile& file, std::uint64_t value) {
  const ElfSegment* block = file.FindSegment(PT_TLS);
  if (block == nullptr || value >= block->memory_bytes) return std::nullopt;
  constexpr std::uint64_t kMostBytes = 1u << 30;
  const std::uint64_t align = block->align == 0 ? 1 : block->align;
  if (block->memory_bytes > kMostBytes || align > kMostBytes) return std::nullopt;
  const std::uint64_t rounded = (block->memory_bytes + align - 1) / align * align;
  return static_cast<std::int64_t>(value) - static_cast<std::int64_t>(rounded);
}

}  // namespace

Result<TlsVariable> FindTlsVariable(const ElfFile& file, std::string_view name) {
  const auto dynamic = ReadDynamicTable(file);
  const auto symbol = FindDynamicSymbol(file, name);
  if (!dynamic || !symbol || symbol->type != STT_TLS)
    return Error{ErrorCode::kNotFound, "the file does not define " + std::string(name), ""};
  if (const auto found =
          FindIn(file, dynamic->plt_relocations, dynamic->plt_relocation_bytes, symbol->index))
    return *found;
  if (const auto found =
          FindIn(file, dynamic->relocations, dynamic->relocation_bytes, symbol->index))
    return *found;
  if (dynamic->is_program || file.header().type == ET_EXEC)
    if (const auto offset = OffsetInProgram(file, symbol->vaddr))
      return TlsVariable{.access = TlsVariable::Access::kFixed, .offset = *offset, .vaddr = 0};
  return Error{ErrorCode::kUnsupported,
               "no relocation says where " + std::string(name) + " is (local-dynamic access?)", ""};
}

}  // namespace profd::elf
