// Unpack: what is compressed in a file, in pieces, within its claimed size.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "daemon/base/result.h"
#include "daemon/elf/file/debug_sections.h"

namespace profd::elf {

// Hands the section's bytes to `sink`, in order; they are exactly `section.unpacked`. kCorrupt when
// the file holds other than what it claims. `source` is the file that it was found in.
using PieceSink = std::function<Result<void>(std::string_view piece)>;
[[nodiscard]] Result<void> UnpackSection(const ByteSource& source, const DebugSection& section,
                                         const PieceSink& sink);

// An xz stream of at most `max_bytes` unpacked (.gnu_debugdata).
[[nodiscard]] Result<std::string> UnpackXz(std::string_view packed, std::uint64_t max_bytes);

}  // namespace profd::elf
