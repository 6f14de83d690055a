// FrameBytes: brings entries of `.eh_frame` into the image as they are needed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/elf/file/file_image.h"

namespace profd::unwind {

// Block by block, each once: what has been checked does not change. Of a large file only what is
// requested takes memory. Used by one thread; the image is given each time, as its owner moves.
class FrameBytes {
 public:
  // .eh_frame lies at `offset` of the file; `there`: all of it is in the image already.
  FrameBytes(std::uint64_t offset, std::uint64_t bytes, bool there)
      : offset_(offset), bytes_(bytes), there_(there) {}

  // The FDE at `offset` of .eh_frame, and its CIE. False: it reaches outside, or cannot be read.
  [[nodiscard]] bool Bring(elf::FileImage& image, std::uint64_t offset);
  // In the image by now.
  [[nodiscard]] std::uint64_t brought_bytes() const { return brought_bytes_; }

 private:
  static constexpr std::uint64_t kBlockBytes = 32u << 10;

  [[nodiscard]] bool BringPart(elf::FileImage& image, std::uint64_t offset, std::uint64_t bytes);
  // The whole entry; its second word, by which an FDE tells of its CIE.
  [[nodiscard]] std::optional<std::uint32_t> BringEntry(elf::FileImage& image,
                                                        std::uint64_t offset);

  std::uint64_t offset_;
  std::uint64_t bytes_;
  bool there_;
  std::vector<bool> blocks_;  // that are there
  std::uint64_t brought_bytes_ = 0;
};

}  // namespace profd::unwind
