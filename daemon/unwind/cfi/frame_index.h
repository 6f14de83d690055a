// FrameIndex: where each FDE's code begins, where it lies; the sorted table of `.eh_frame_hdr`.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/unwind/cfi/elf_text.h"

namespace profd::unwind {

// Read fetches `.eh_frame_hdr` into the image, or `.eh_frame` if it has to walk it. Immutable after
// that. Addresses are the object's own.
class FrameIndex {
 public:
  struct Entry {
    std::uint64_t begin = 0;   // vaddr of the first byte of code
    std::uint64_t offset = 0;  // of the FDE in .eh_frame
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  static constexpr std::uint64_t kMaxBytes = 256u << 20;      // of .eh_frame
  static constexpr std::uint64_t kMaxIndexBytes = 16u << 20;  // of .eh_frame_hdr: two million FDEs

  // Walks `.eh_frame` of a file without a usable table, and refuses the file if any of it is
  // damaged, because libdw will walk it, too. kNotFound: the file has neither. All FDEs lie inside
  // the file.
  [[nodiscard]] static Result<FrameIndex> Read(ElfText& text);

  // Of a file without unwind information.
  [[nodiscard]] static FrameIndex Empty();

  // Ascending by `begin`.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  // Entries that may hold code of [begin, end): [first, second) of entries().
  [[nodiscard]] std::pair<std::size_t, std::size_t> Overlapping(std::uint64_t begin,
                                                                std::uint64_t end) const;
  // .eh_frame: where it lies in the image, and how far its FDEs reach.
  [[nodiscard]] std::uint64_t frames_offset() const { return frames_offset_; }
  [[nodiscard]] std::uint64_t frames_bytes() const { return frames_bytes_; }
  [[nodiscard]] std::uint64_t frames_vaddr() const { return frames_vaddr_; }
  // It has been walked, so all of it is in the image.
  [[nodiscard]] bool walked() const { return walked_; }

 private:
  FrameIndex() = default;
  [[nodiscard]] static Result<FrameIndex> ReadTable(ElfText& text, const elf::ElfSegment& segment);
  [[nodiscard]] static Result<FrameIndex> Walk(ElfText& text);
  std::vector<Entry> entries_;
  std::uint64_t frames_offset_ = 0;
  std::uint64_t frames_bytes_ = 0;
  std::uint64_t frames_vaddr_ = 0;
  bool walked_ = false;
};

}  // namespace profd::unwind
