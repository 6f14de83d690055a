// ElfText: a 64-bit x86 ELF file for libdw, and where its code lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/elf/file/byte_source.h"
#include "daemon/elf/file/elf_file.h"
#include "daemon/elf/file/file_image.h"

namespace profd::unwind {

// A range of file offsets with code; `vaddr` is where `begin` lies in the object's own addresses.
struct TextRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t vaddr = 0;
  friend bool operator==(const TextRange&, const TextRange&) = default;
};

// Its image has an ELF header and program headers made from those that were checked, from which
// libdw finds `.eh_frame_hdr`, so libdw never sees the file's own. There are no section headers:
// the kernel runs files whose section headers are damaged, so these must unwind, too. Owned by a
// CfiReader; used by one thread.
class ElfText {
 public:
  // File offsets of code reach less far than this.
  static constexpr std::uint64_t kMaxTextOffset = 4ull << 30;

  // kUnsupported: a file of another machine.
  [[nodiscard]] static Result<ElfText> Read(std::unique_ptr<elf::ByteSource> source);

  [[nodiscard]] elf::ElfFile& file() { return file_; }
  [[nodiscard]] const elf::ElfFile& file() const { return file_; }
  [[nodiscard]] elf::FileImage& image() { return image_; }
  [[nodiscard]] const elf::FileImage& image() const { return image_; }
  // Ascending, disjoint; not empty.
  [[nodiscard]] const std::vector<TextRange>& text() const { return text_; }
  // File offset behind the ELF header and the program headers.
  [[nodiscard]] std::uint64_t headers_end() const;
  // From now on the image has this many section headers, where the file has its own.
  void ShowSections(std::size_t count, std::size_t names);
  // From now on the image has no program header of this type.
  void HideSegments(std::uint32_t type);

 private:
  ElfText(std::unique_ptr<elf::ByteSource> source, elf::ElfFile file, elf::FileImage image)
      : source_(std::move(source)), file_(std::move(file)), image_(std::move(image)) {}
  [[nodiscard]] Result<void> FindText();
  void WriteHeaders();

  std::unique_ptr<elf::ByteSource> source_;  // outlives what follows
  elf::ElfFile file_;
  elf::FileImage image_;
  std::vector<TextRange> text_;
  std::uint32_t hidden_ = 0;  // PT_NULL: none
  std::size_t shown_sections_ = 0;
  std::size_t shown_names_ = 0;
};

}  // namespace profd::unwind
