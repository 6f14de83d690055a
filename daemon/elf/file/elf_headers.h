// Brings the headers of an ELF file into its image, within bounds, before libelf sees them.
#pragma once

#include <cstdint>

#include "daemon/base/result.h"
#include "daemon/elf/file/file_image.h"

namespace profd::elf {

// Bounds against hostile files; what goes beyond is refused with the reason. With all of them
// reached, reading takes about 300 MiB for a moment, and the object half of it.
struct ElfLimits {
  std::uint64_t sections = 1u << 17;
  std::uint64_t segments = 4096;
  std::uint64_t symbols = 2u << 20;
  std::uint64_t string_bytes = 128u << 20;
  std::uint64_t stub_bytes = 4u << 20;        // of one procedure linkage table
  std::uint64_t minidebug_bytes = 32u << 20;  // .gnu_debugdata as it is in the file, and unpacked
  std::uint64_t note_bytes = 64u << 10;  // all notes together that are searched for the build id
};

// Afterwards the ELF header, the program headers and the section headers are in the image, and
// their numbers within `limits`: libelf allocates by them, so they are checked on the very bytes
// that it will read. Fails for what is not of this kind: kLoadable is a program or library.
enum class ElfKind : std::uint8_t { kLoadable, kAny };  // dwz makes relocatable files
[[nodiscard]] Result<void> FetchHeaders(FileImage& image, const ElfLimits& limits,
                                        ElfKind kind = ElfKind::kLoadable);

// Error for a number that is beyond its bound.
[[nodiscard]] Error BeyondBound(const char* what, std::uint64_t have, std::uint64_t bound);

}  // namespace profd::elf
