// `.eh_frame` by section headers, for files that have no `.eh_frame_hdr`.
#pragma once

#include <cstdint>

#include "daemon/base/result.h"
#include "daemon/unwind/cfi/elf_text.h"

namespace profd::unwind {

struct SectionFrames {
  std::uint64_t offset = 0;  // in the file
  std::uint64_t bytes = 0;
  std::uint64_t vaddr = 0;
};

// Brings the section into the image, and shows libdw the headers of this section alone: whatever
// else the file says of its sections may be damaged. kNotFound: there is none; a file that was
// linked by a quick linker has its table of sections at its end, and others are not looked for.
[[nodiscard]] Result<SectionFrames> ShowFrames(ElfText& text);

}  // namespace profd::unwind
