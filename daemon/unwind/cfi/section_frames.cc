#include "daemon/unwind/cfi/section_frames.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace profd::unwind {
namespace {

constexpr std::uint64_t kMaxSections = 65'279;  // more need another way to count them
constexpr std::uint64_t kMaxNameBytes = 16u << 20;
constexpr std::uint64_t kMaxFrameBytes = 256u << 20;
constexpr std::string_view kName{".eh_frame\0", 10};

Error NotFound(const char* message) { return Error{ErrorCode::kNotFound, message, ""}; }

Elf64_Shdr HeaderAt(std::span<const char> table, std::size_t index) {
  Elf64_Shdr header;
  std::memcpy(&header, table.data() + index * sizeof header, sizeof header);
  return header;
}

std::optional<Elf64_Shdr> FindFrames(std::span<const char> table, std::span<const char> names) {
  for (std::size_t i = 1; i < table.size() / sizeof(Elf64_Shdr); ++i) {
    const Elf64_Shdr header = HeaderAt(table, i);
    if (header.sh_type != SHT_PROGBITS && header.sh_type != SHT_X86_64_UNWIND) continue;
    if (header.sh_name >= names.size() || names.size() - header.sh_name < kName.size()) continue;
    if (std::memcmp(names.data() + header.sh_name, kName.data(), kName.size()) == 0) return header;
  }
  return std::nullopt;
}

}  // namespace

Result<SectionFrames> ShowFrames(ElfText& text) {
  const ElfText::SectionTable table = text.sections();
  if (table.count < 3 || table.count > kMaxSections || table.names >= table.count ||
      table.offset % alignof(Elf64_Shdr) != 0)
    return NotFound("no .eh_frame_hdr, and no sections");
  const auto headers = text.image().Fetch(table.offset, table.count * sizeof(Elf64_Shdr));
  if (!headers) return headers.error().Wrap("section headers");
  Elf64_Shdr names = HeaderAt(*headers, table.names);
  if (names.sh_type != SHT_STRTAB || names.sh_size > kMaxNameBytes)
    return NotFound("no .eh_frame_hdr, and no names of sections");
  const auto name_bytes = text.image().Fetch(names.sh_offset, names.sh_size);
  if (!name_bytes) return name_bytes.error().Wrap("names of sections");
  const auto found = FindFrames(*headers, *name_bytes);
  if (!found || found->sh_size > kMaxFrameBytes) return NotFound("no .eh_frame_hdr or .eh_frame");
  const auto part = text.PartAt(found->sh_addr);
  if (!part || part->offset != found->sh_offset || part->bytes < found->sh_size)
    return Error{ErrorCode::kCorrupt, ".eh_frame: not in the memory of the program", ""};
  // What is written over must be nothing but the table.
  if (table.offset < text.headers_end() || table.offset < found->sh_offset + found->sh_size ||
      table.offset < names.sh_offset + names.sh_size)
    return NotFound("no .eh_frame_hdr, and sections are not listed at the end");
  const auto frames = text.image().Fetch(found->sh_offset, found->sh_size);
  if (!frames) return frames.error().Wrap(".eh_frame");

  Elf64_Shdr shown = *found;
  shown.sh_type = SHT_PROGBITS;
  shown.sh_flags = SHF_ALLOC;  // not compressed
  shown.sh_link = shown.sh_info = 0;
  names.sh_flags = names.sh_link = names.sh_info = 0;
  const std::array<Elf64_Shdr, 3> all{Elf64_Shdr{}, shown, names};
  std::memcpy(text.image().data() + table.offset, all.data(), sizeof all);
  text.ShowSections(all.size(), all.size() - 1);
  return SectionFrames{found->sh_offset, found->sh_size, found->sh_addr};
}

}  // namespace profd::unwind
