// ElfText: the program headers of a 64-bit x86 ELF file, and where its code lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/elf/file/file_image.h"

namespace profd::unwind {

// A range of file offsets with code; `vaddr` is where `begin` lies in the object's own addresses.
struct TextRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t vaddr = 0;
  friend bool operator==(const TextRange&, const TextRange&) = default;
};

// Section headers are hidden from whoever reads the image after this: the kernel runs files whose
// section headers are damaged, so they must unwind, too. Used by one thread.
class ElfText {
 public:
  struct Segment {
    std::uint32_t type = 0;
    std::uint64_t file_offset = 0;
    std::uint64_t vaddr = 0;
    std::uint64_t file_bytes = 0;
    bool executable = false;
  };
  // As the file says; not checked.
  struct SectionTable {
    std::uint64_t offset = 0;
    std::uint64_t count = 0;
    std::uint64_t names = 0;  // index of the section with their names
  };
  // File offsets of code reach less far than this.
  static constexpr std::uint64_t kMaxTextOffset = 4ull << 30;

  // `fd` is a regular file, open for reading, of that size. kUnsupported: another machine's file.
  [[nodiscard]] static Result<ElfText> Open(UniqueFd fd, std::uint64_t file_bytes);
  [[nodiscard]] static Result<ElfText> FromMemory(std::span<const std::byte> bytes);

  [[nodiscard]] elf::FileImage& image() { return image_; }
  [[nodiscard]] const elf::FileImage& image() const { return image_; }
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
  [[nodiscard]] const Segment* FindSegment(std::uint32_t type) const;
  // Ascending, disjoint; not empty.
  [[nodiscard]] const std::vector<TextRange>& text() const { return text_; }
  // The bytes from `vaddr` to the end of the PT_LOAD that holds it, in the file.
  struct FilePart {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] std::optional<FilePart> PartAt(std::uint64_t vaddr) const;
  [[nodiscard]] const SectionTable& sections() const { return sections_; }
  // File offset behind the ELF header and the program headers.
  [[nodiscard]] std::uint64_t headers_end() const { return headers_end_; }
  // The image has its section headers where the file has its own: so many.
  void ShowSections(std::size_t count, std::size_t names);
  // Whoever reads the image after this finds no program header of this type.
  void HideSegments(std::uint32_t type);

 private:
  ElfText(UniqueFd fd, elf::FileImage image) : fd_(std::move(fd)), image_(std::move(image)) {}
  [[nodiscard]] static Result<ElfText> Read(ElfText text);
  [[nodiscard]] Result<void> ReadHeaders();
  [[nodiscard]] Result<void> FindText();

  UniqueFd fd_;
  elf::FileImage image_;
  std::vector<Segment> segments_;
  std::vector<TextRange> text_;
  SectionTable sections_;
  std::uint64_t program_headers_ = 0;  // file offset, and how many
  std::size_t program_header_count_ = 0;
  std::uint64_t headers_end_ = 0;
};

}  // namespace profd::unwind
