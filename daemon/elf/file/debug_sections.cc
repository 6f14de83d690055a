#include "daemon/elf/file/debug_sections.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

namespace profd::elf {
namespace {

constexpr auto kWanted = std::to_array<std::string_view>(
    {"abbrev", "addr", "info", "line", "line_str", "ranges", "rnglists", "str", "str_offsets"});

Error Corrupt(std::string message) { return Error{ErrorCode::kCorrupt, std::move(message), ""}; }

// "ZLIB" and the size, big-endian.
Result<void> UnwrapOldWay(const ByteSource& source, DebugSection& section) {
  constexpr std::size_t kHeader = 12;
  if (section.bytes < kHeader) return Corrupt("compressed section without a header");
  const auto head = source.Copy(section.offset, kHeader);
  if (!head) return head.error();
  if (!head->starts_with("ZLIB")) return Corrupt("unknown compression");
  std::uint64_t size = 0;
  std::memcpy(&size, head->data() + 4, sizeof size);
  section.unpacked = __builtin_bswap64(size);
  section.packing = Packing::kZlib;
  section.offset += kHeader;
  section.bytes -= kHeader;
  return {};
}

Result<void> Unwrap(const ElfFile& file, DebugSection& section) {
  const auto header = file.ReadCompression(section.offset, section.bytes);
  if (!header) return header.error();
  constexpr std::uint32_t kZstd = 2;
  if (header->type != ELFCOMPRESS_ZLIB && header->type != kZstd)
    return Corrupt("unknown compression");
  section.packing = header->type == ELFCOMPRESS_ZLIB ? Packing::kZlib : Packing::kZstd;
  section.unpacked = header->unpacked;
  section.offset += header->header_bytes;
  section.bytes -= header->header_bytes;
  return {};
}

}  // namespace

Result<DebugSections> FindDebugSections(const ByteSource& source, const ElfLimits& limits) {
  auto file = ElfFile::Open(source, limits);
  if (!file) return file.error();
  PROFD_TRY(file->ReadSections());
  DebugSections debug;
  debug.big_endian = file->header().big_endian;
  debug.machine = file->header().machine;
  for (const ElfSection& one : file->sections()) {
    if (one.type == SHT_NULL || one.type == SHT_NOBITS || one.bytes == 0) continue;
    std::string_view name = file->NameOf(one);
    const bool old_way = name.starts_with(".zdebug_");
    if (!old_way && !name.starts_with(".debug_")) continue;
    name.remove_prefix(name.find('_') + 1);
    if (!std::ranges::binary_search(kWanted, name)) continue;
    DebugSection section;
    section.name = ".debug_" + std::string(name);
    section.offset = one.offset;
    section.bytes = one.bytes;
    section.unpacked = one.bytes;
    if (std::ranges::find(debug.sections, section.name, &DebugSection::name) !=
        debug.sections.end())
      continue;
    if (!source.Holds(section.offset, section.bytes))
      return Corrupt(section.name + " lies outside the file");
    if (old_way || one.compressed()) {
      const auto unwrapped = old_way ? UnwrapOldWay(source, section) : Unwrap(*file, section);
      if (!unwrapped) return unwrapped.error().Wrap(section.name);
    }
    if (section.unpacked > 0) debug.sections.push_back(std::move(section));
  }
  return debug;
}

}  // namespace profd::elf
