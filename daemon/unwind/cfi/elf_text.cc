#include "daemon/unwind/cfi/elf_text.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "daemon/elf/file/elf_header.h"

namespace profd::unwind {
namespace {

Error Corrupt(const char* message) { return Error{ErrorCode::kCorrupt, message, ""}; }

}  // namespace

Result<ElfText> ElfText::Read(std::unique_ptr<elf::ByteSource> source) {
  auto file = elf::ElfFile::Open(*source);
  if (!file) return file.error();
  if (!file->IsX86_64()) return Error{ErrorCode::kUnsupported, "not a 64-bit x86 file", ""};
  if (file->header().type != ET_EXEC && file->header().type != ET_DYN)
    return Corrupt("neither a program nor a shared library");
  if (file->header().segments_at < sizeof(Elf64_Ehdr))
    return Corrupt("program headers inside of the ELF header");
  auto image = elf::FileImage::Create(*source);
  if (!image) return image.error();
  ElfText text(std::move(source), *std::move(file), *std::move(image));
  PROFD_TRY(text.FindText());
  text.WriteHeaders();
  return text;
}

Result<void> ElfText::FindText() {
  for (const elf::ElfSegment& segment : file_.segments()) {
    if (segment.type != PT_LOAD || !segment.in_file || !segment.executable ||
        segment.file_bytes == 0)
      continue;
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

std::uint64_t ElfText::headers_end() const {
  const elf::ElfHeader& header = file_.header();
  return std::max(sizeof(Elf64_Ehdr), header.segments_at + header.segments * sizeof(Elf64_Phdr));
}

void ElfText::WriteHeaders() {
  const elf::ElfHeader& known = file_.header();
  std::vector<Elf64_Phdr> segments;
  for (const elf::ElfSegment& segment : file_.segments()) {
    if (!segment.in_file) continue;
    Elf64_Phdr made{};
    made.p_type = segment.type == hidden_ ? PT_NULL : segment.type;
    made.p_flags = segment.executable ? PF_R | PF_X : PF_R;
    made.p_offset = segment.file_offset;
    made.p_vaddr = segment.vaddr;
    made.p_filesz = segment.file_bytes;
    made.p_memsz = segment.file_bytes;
    made.p_align = segment.align;
    segments.push_back(made);
  }
  Elf64_Ehdr header = elf::NewElfHeader(known.machine);
  header.e_type = known.type;
  header.e_phoff = known.segments_at;
  header.e_phnum = static_cast<Elf64_Half>(segments.size());
  header.e_shoff = shown_sections_ == 0 ? 0 : known.sections_at;
  header.e_shnum = static_cast<Elf64_Half>(shown_sections_);
  header.e_shstrndx = static_cast<Elf64_Half>(shown_names_);
  std::memcpy(image_.data() + known.segments_at, segments.data(),
              segments.size() * sizeof(Elf64_Phdr));
  std::memcpy(image_.data(), &header, sizeof header);
}

void ElfText::ShowSections(std::size_t count, std::size_t names) {
  shown_sections_ = count;
  shown_names_ = names;
  WriteHeaders();
}

void ElfText::HideSegments(std::uint32_t type) {
  hidden_ = type;
  WriteHeaders();
}

}  // namespace profd::unwind
