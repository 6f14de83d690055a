#include "daemon/unwind/cfi/frame_index.h"

#include <elf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "daemon/unwind/cfi/cfi_check.h"

namespace profd::unwind {
namespace {

// What every linker writes: version, then encodings of pointer, count and table.
struct Header {
  std::uint8_t version;
  std::uint8_t frames_encoding;
  std::uint8_t count_encoding;
  std::uint8_t table_encoding;
  std::int32_t frames;  // relative to itself
  std::uint32_t count;
};
constexpr std::uint8_t kPcRelativeSigned4 = 0x1b;
constexpr std::uint8_t kUnsigned4 = 0x03;
constexpr std::uint8_t kHeaderRelativeSigned4 = 0x3b;

struct RawEntry {  // relative to the header
  std::int32_t begin;
  std::int32_t fde;
};

constexpr std::uint32_t kLongEntry = 0xffffffff;

Error Corrupt(const char* message) { return Error{ErrorCode::kCorrupt, message, ""}; }

std::uint64_t Plus(std::uint64_t base, std::int64_t offset) {
  return base + static_cast<std::uint64_t>(offset);
}

Error NotFound(const char* message) { return Error{ErrorCode::kNotFound, message, ""}; }

Elf64_Shdr HeaderOf(const elf::ElfSection& section, std::uint32_t type, std::uint64_t flags) {
  Elf64_Shdr header{};
  header.sh_name = section.name;
  header.sh_type = type;
  header.sh_flags = flags;
  header.sh_addr = section.vaddr;
  header.sh_offset = section.offset;
  header.sh_size = section.bytes;
  header.sh_addralign = section.align;
  header.sh_entsize = section.entry_bytes;
  return header;
}

struct SectionFrames {
  std::uint64_t offset = 0;  // in the file
  std::uint64_t bytes = 0;
  std::uint64_t vaddr = 0;
};

// `.eh_frame` by section headers, for files that have no `.eh_frame_hdr`. Brings the section into
// the image, and shows libdw the headers of this section alone: the others may be damaged.
// kNotFound: there is none; a file that was linked by a quick linker has its table of sections at
// its end, and no other is looked at.
Result<SectionFrames> ShowFrames(ElfText& text) {
  const std::uint64_t table_at = text.file().header().sections_at;
  if (!text.file().ReadSections() || text.file().sections().size() < 3 ||
      table_at % alignof(Elf64_Shdr) != 0)
    return NotFound("no .eh_frame_hdr, and no sections");
  const elf::ElfSection* names = text.file().section_names();
  if (names == nullptr) return NotFound("no .eh_frame_hdr, and no names of sections");
  const elf::ElfSection* found = text.file().FindSection(".eh_frame");
  if (found == nullptr || (found->type != SHT_PROGBITS && found->type != SHT_X86_64_UNWIND) ||
      found->bytes > FrameIndex::kMaxBytes)
    return NotFound("no .eh_frame_hdr or .eh_frame");
  const auto part = text.file().PartAt(found->vaddr);
  if (!part || part->offset != found->offset || part->bytes < found->bytes)
    return Corrupt(".eh_frame: not in the memory of the program");
  // What is written over must be nothing but the table.
  if (table_at < text.headers_end() || table_at < found->offset + found->bytes ||
      table_at < names->offset + names->bytes)
    return NotFound("no .eh_frame_hdr, and sections are not listed at the end");
  const auto name_bytes = text.image().Fetch(names->offset, names->bytes);
  if (!name_bytes) return name_bytes.error().Wrap("names of sections");
  const auto frames = text.image().Fetch(found->offset, found->bytes);
  if (!frames) return frames.error().Wrap(".eh_frame");
  const std::array<Elf64_Shdr, 3> all{Elf64_Shdr{}, HeaderOf(*found, SHT_PROGBITS, SHF_ALLOC),
                                      HeaderOf(*names, SHT_STRTAB, 0)};
  std::memcpy(text.image().data() + table_at, all.data(), sizeof all);
  text.ShowSections(all.size(), all.size() - 1);
  return SectionFrames{found->offset, found->bytes, found->vaddr};
}

}  // namespace

Result<FrameIndex> FrameIndex::Read(ElfText& text) {
  const elf::ElfSegment* segment = text.file().FindSegment(PT_GNU_EH_FRAME);
  if (segment == nullptr) return Walk(text);
  auto read = ReadTable(text, *segment);
  if (read || read.error().code == ErrorCode::kExhausted) return read;
  auto walked = Walk(text);
  return walked ? std::move(walked) : std::move(read);
}

FrameIndex FrameIndex::Empty() { return {}; }

Result<FrameIndex> FrameIndex::ReadTable(ElfText& text, const elf::ElfSegment& segment) {
  if (segment.file_bytes > kMaxIndexBytes)
    return Error{ErrorCode::kExhausted, ".eh_frame_hdr is larger than 16 MiB", ""};
  const auto bytes = text.image().Fetch(segment.file_offset, segment.file_bytes);
  if (!bytes) return bytes.error().Wrap(".eh_frame_hdr");
  Header header;
  if (bytes->size() < sizeof header) return Corrupt(".eh_frame_hdr: cut");
  std::memcpy(&header, bytes->data(), sizeof header);
  if (header.version != 1 || header.frames_encoding != kPcRelativeSigned4 ||
      header.count_encoding != kUnsigned4 || header.table_encoding != kHeaderRelativeSigned4)
    return Error{ErrorCode::kUnsupported, ".eh_frame_hdr: without a table, or of unknown encoding",
                 ""};
  if (header.count > (bytes->size() - sizeof header) / sizeof(RawEntry))
    return Corrupt(".eh_frame_hdr: table outside the section");

  FrameIndex index;
  index.frames_vaddr_ = Plus(segment.vaddr + offsetof(Header, frames), header.frames);
  const auto part = text.file().PartAt(index.frames_vaddr_);
  if (!part) return Corrupt(".eh_frame: outside the file");
  // libdw finds it by the header's segment alone.
  if (part->offset - index.frames_vaddr_ != segment.file_offset - segment.vaddr)
    return Corrupt(".eh_frame: in another segment than its header");
  index.frames_offset_ = part->offset;

  index.entries_.reserve(header.count);
  std::uint64_t last_fde = 0;
  for (std::size_t i = 0; i < header.count; ++i) {
    RawEntry raw;
    std::memcpy(&raw, bytes->data() + sizeof header + i * sizeof raw, sizeof raw);
    const Entry entry{Plus(segment.vaddr, raw.begin),
                      Plus(segment.vaddr, raw.fde) - index.frames_vaddr_};
    if (entry.offset >= part->bytes) return Corrupt(".eh_frame_hdr: FDE outside .eh_frame");
    if (!index.entries_.empty() && entry.begin < index.entries_.back().begin)
      return Corrupt(".eh_frame_hdr: table is not sorted");
    last_fde = std::max(last_fde, entry.offset);
    index.entries_.push_back(entry);
  }

  std::uint32_t last_bytes = 0;
  if (part->bytes - last_fde < sizeof last_bytes) return Corrupt(".eh_frame: cut");
  const auto length = text.image().Fetch(part->offset + last_fde, sizeof last_bytes);
  if (!length) return length.error().Wrap(".eh_frame");
  std::memcpy(&last_bytes, length->data(), sizeof last_bytes);
  if (last_bytes == kLongEntry) return Corrupt(".eh_frame: 64-bit entries");
  index.frames_bytes_ = std::min(part->bytes, last_fde + sizeof last_bytes + last_bytes);
  if (index.frames_bytes_ > kMaxBytes)
    return Error{ErrorCode::kExhausted, ".eh_frame is larger than 256 MiB", ""};
  return index;
}

Result<FrameIndex> FrameIndex::Walk(ElfText& text) {
  const auto part = ShowFrames(text);
  if (!part) return part.error();
  text.HideSegments(PT_GNU_EH_FRAME);  // libdw would use the table
  FrameIndex index;
  index.walked_ = true;
  index.frames_offset_ = part->offset;
  index.frames_vaddr_ = part->vaddr;
  index.frames_bytes_ = part->bytes;
  const auto* ident = reinterpret_cast<const unsigned char*>(text.image().data());
  Elf_Data frames{};
  frames.d_buf = text.image().data() + part->offset;
  frames.d_size = part->bytes;
  frames.d_type = ELF_T_BYTE;
  frames.d_version = EV_CURRENT;
  CfiCheck check(ident, &frames);
  constexpr auto kEnd = static_cast<Dwarf_Off>(-1);
  Dwarf_Off next = 0;
  for (Dwarf_Off at = 0; at != kEnd && at < part->bytes; at = next) {
    Dwarf_CFI_Entry entry;
    const int result = ::dwarf_next_cfi(ident, &frames, true, at, &next, &entry);
    if (result > 0) break;  // a length of zero
    if (result < 0 || next <= at) return Corrupt(".eh_frame: damaged");
    if (dwarf_cfi_cie_p(&entry)) continue;
    const auto code = check.CodeOf(at, part->vaddr);
    if (!code) return Corrupt(".eh_frame: an FDE that is damaged, or encoded otherwise");
    index.entries_.push_back({code->begin, at});
  }
  std::ranges::stable_sort(index.entries_, {}, &Entry::begin);
  return index;
}

std::pair<std::size_t, std::size_t> FrameIndex::Overlapping(std::uint64_t begin,
                                                            std::uint64_t end) const {
  const auto before = [](const Entry& entry, std::uint64_t vaddr) { return entry.begin < vaddr; };
  const auto past = std::lower_bound(entries_.begin(), entries_.end(), end, before);
  auto first = std::lower_bound(entries_.begin(), past, begin, before);
  // The last one that begins before it reaches in, and all that begin where that one does.
  if (first != entries_.begin())
    first = std::lower_bound(entries_.begin(), first, std::prev(first)->begin, before);
  return {static_cast<std::size_t>(first - entries_.begin()),
          static_cast<std::size_t>(past - entries_.begin())};
}

}  // namespace profd::unwind
