#include "daemon/elf/file/object.h"

#include <elf.h>

#include "daemon/elf/file/elf_file.h"

namespace profd::elf {

std::vector<LoadSegment> LoadSegmentsOf(const ElfFile& file) {
  std::vector<LoadSegment> segments;
  for (const ElfSegment& segment : file.segments())
    if (segment.type == PT_LOAD)
      segments.push_back(
          {segment.file_offset, segment.vaddr, segment.file_bytes, segment.executable});
  return segments;
}

std::optional<std::uint64_t> VaddrOf(const std::vector<LoadSegment>& segments,
                                     std::uint64_t file_offset) {
  constexpr std::uint64_t kPage = 4096;
  const LoadSegment* best = nullptr;
  int best_rank = 0;
  for (const LoadSegment& segment : segments) {
    if (segment.file_bytes == 0) continue;
    const std::uint64_t slack_before = segment.file_offset % kPage;
    // Unsigned distances: an offset before the segment is a very large one.
    const std::uint64_t distance = file_offset - segment.file_offset;
    const bool inside = distance < segment.file_bytes;
    const std::uint64_t paged = slack_before + segment.file_bytes;
    const bool in_page = file_offset - (segment.file_offset - slack_before) <
                         paged + (kPage - paged % kPage) % kPage;
    const int rank = (inside ? 2 : in_page ? 1 : 0) * 2 + (segment.executable ? 1 : 0);
    if (rank >= 2 && rank > best_rank) {
      best = &segment;
      best_rank = rank;
    }
  }
  if (best == nullptr) return std::nullopt;
  return best->vaddr + (file_offset - best->file_offset);
}

}  // namespace profd::elf
