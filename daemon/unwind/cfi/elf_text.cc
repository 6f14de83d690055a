#include "daemon/unwind/cfi/elf_text.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace profd::unwind {
namespace {

constexpr std::uint64_t kMaxSegments = 4096;

Error Corrupt(std::string message) { return Error{ErrorCode::kCorrupt, std::move(message), ""}; }
Error Unsupported(std::string message) {
  return Error{ErrorCode::kUnsupported, std::move(message), ""};
}

}  // namespace

Result<ElfText> ElfText::Open(UniqueFd fd, std::uint64_t file_bytes) {
  auto image = elf::FileImage::Create(fd.get(), file_bytes);
  if (!image) return image.error();
  return Read(ElfText(std::move(fd), *std::move(image)));
}

Result<ElfText> ElfText::FromMemory(std::span<const std::byte> bytes) {
  auto image = elf::FileImage::FromMemory(bytes);
  if (!image) return image.error();
  return Read(ElfText(UniqueFd(), *std::move(image)));
}

Result<ElfText> ElfText::Read(ElfText text) {
  PROFD_TRY(text.ReadHeaders());
  PROFD_TRY(text.FindText());
  return text;
}

Result<void> ElfText::ReadHeaders() {
  const auto bytes = image_.Fetch(0, sizeof(Elf64_Ehdr));
  if (!bytes) return bytes.error().Wrap("ELF header");
  Elf64_Ehdr header;
  std::memcpy(&header, bytes->data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return Corrupt("not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_X86_64)
    return Unsupported("not a 64-bit x86 file");
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
    return Corrupt("neither a program nor a shared library");
  if (header.e_phnum == 0 || header.e_phnum > kMaxSegments ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return Corrupt("program headers of an unknown number or size");
  sections_ = {header.e_shoff, header.e_shentsize == sizeof(Elf64_Shdr) ? header.e_shnum : 0u,
               header.e_shstrndx};
  header.e_shoff = 0;
  header.e_shnum = 0;
  header.e_shstrndx = SHN_UNDEF;
  std::memcpy(image_.data(), &header, sizeof header);

  const auto table = image_.Fetch(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr));
  if (!table) return table.error().Wrap("program headers");
  program_headers_ = header.e_phoff;
  program_header_count_ = header.e_phnum;
  headers_end_ = std::max(sizeof header, header.e_phoff + table->size());
  // They may overlap the ELF header, and then have brought its bytes back.
  std::memcpy(image_.data(), &header, sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, table->data() + i * sizeof segment, sizeof segment);
    if (segment.p_offset > image_.size() || segment.p_filesz > image_.size() - segment.p_offset)
      continue;  // the kernel would not have mapped what lies outside the file
    segments_.push_back({segment.p_type, segment.p_offset, segment.p_vaddr, segment.p_filesz,
                         (segment.p_flags & PF_X) != 0});
  }
  return {};
}

Result<void> ElfText::FindText() {
  for (const Segment& segment : segments_) {
    if (segment.type != PT_LOAD || !segment.executable || segment.file_bytes == 0) continue;
    const std::uint64_t end = segment.file_offset + segment.file_bytes;
    if (end > kMaxTextOffset)
      return Error{ErrorCode::kExhausted, "code beyond 4 GiB of the file", ""};
    text_.push_back({segment.file_offset, end, segment.vaddr});
  }
  std::sort(text_.begin(), text_.end(),
            [](const TextRange& a, const TextRange& b) { return a.begin < b.begin; });
  // One byte of the file has one rule: where segments share it, the first has it.
  for (std::size_t i = 1; i < text_.size(); ++i) {
    TextRange& range = text_[i];
    const std::uint64_t shared = std::max(range.begin, text_[i - 1].end) - range.begin;
    range.begin += shared;
    range.vaddr += shared;
    range.end = std::max(range.end, range.begin);
  }
  std::erase_if(text_, [](const TextRange& range) { return range.begin == range.end; });
  if (text_.empty()) return Corrupt("no executable segment");
  return {};
}

void ElfText::ShowSections(std::size_t count, std::size_t names) {
  Elf64_Ehdr header;
  std::memcpy(&header, image_.data(), sizeof header);
  header.e_shoff = sections_.offset;
  header.e_shnum = static_cast<Elf64_Half>(count);
  header.e_shstrndx = static_cast<Elf64_Half>(names);
  std::memcpy(image_.data(), &header, sizeof header);
}

void ElfText::HideSegments(std::uint32_t type) {
  for (std::size_t i = 0; i < program_header_count_; ++i) {
    char* at = image_.data() + program_headers_ + i * sizeof(Elf64_Phdr);
    Elf64_Phdr segment;
    std::memcpy(&segment, at, sizeof segment);
    if (segment.p_type == type) segment.p_type = PT_NULL;
    std::memcpy(at, &segment, sizeof segment);
  }
}

const ElfText::Segment* ElfText::FindSegment(std::uint32_t type) const {
  const auto found = std::find_if(segments_.begin(), segments_.end(),
                                  [&](const Segment& segment) { return segment.type == type; });
  return found == segments_.end() ? nullptr : &*found;
}

std::optional<ElfText::FilePart> ElfText::PartAt(std::uint64_t vaddr) const {
  for (const Segment& segment : segments_) {
    if (segment.type != PT_LOAD || vaddr < segment.vaddr) continue;
    const std::uint64_t inside = vaddr - segment.vaddr;
    if (inside >= segment.file_bytes) continue;
    return FilePart{segment.file_offset + inside, segment.file_bytes - inside};
  }
  return std::nullopt;
}

}  // namespace profd::unwind
