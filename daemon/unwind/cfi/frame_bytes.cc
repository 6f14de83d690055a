#include "daemon/unwind/cfi/frame_bytes.h"

#include <algorithm>
#include <cstring>

namespace profd::unwind {

bool FrameBytes::Bring(elf::FileImage& image, std::uint64_t offset) {
  if (there_) return true;
  const auto to_cie = BringEntry(image, offset);
  if (!to_cie) return false;
  const std::uint64_t from = offset + sizeof(std::uint32_t);  // of that word
  if (*to_cie == 0 || *to_cie > from) return true;            // no FDE; whoever reads it says so
  return BringEntry(image, from - *to_cie).has_value();
}

std::optional<std::uint32_t> FrameBytes::BringEntry(elf::FileImage& image, std::uint64_t offset) {
  std::uint32_t words[2] = {};  // NOLINT(modernize-avoid-c-arrays): as they lie in the file
  if (!BringPart(image, offset, sizeof words)) return std::nullopt;
  std::memcpy(words, image.data() + offset_ + offset, sizeof words);
  if (!BringPart(image, offset, sizeof words[0] + std::uint64_t{words[0]})) return std::nullopt;
  return words[1];
}

bool FrameBytes::BringPart(elf::FileImage& image, std::uint64_t offset, std::uint64_t bytes) {
  if (offset > bytes_ || bytes > bytes_ - offset) return false;
  if (blocks_.empty()) blocks_.resize((bytes_ + kBlockBytes - 1) / kBlockBytes);
  const std::uint64_t last = (offset + bytes - 1) / kBlockBytes;
  for (std::uint64_t block = offset / kBlockBytes; block <= last; ++block) {
    if (blocks_[block]) continue;
    const std::uint64_t begin = block * kBlockBytes;
    const std::uint64_t length = std::min(kBlockBytes, bytes_ - begin);
    if (!image.Fetch(offset_ + begin, length)) return false;
    blocks_[block] = true;
    brought_bytes_ += length;
  }
  return true;
}

}  // namespace profd::unwind
