// ContentEncoding: how the body of a request is packed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace profd {

// Spools keep the numbers.
enum class ContentEncoding : std::uint8_t { kNone = 0, kGzip = 1, kZstd = 2 };

// "gzip", as the header "content-encoding" and configurations have it; "none".
[[nodiscard]] std::string_view NameOf(ContentEncoding encoding);

// Zstandard with a window of some MiB, which finds what repeats far apart: names in stacks.
[[nodiscard]] std::string Packed(std::string_view bytes, ContentEncoding encoding);
// Packed by gzip.
[[nodiscard]] std::string Gzipped(std::string_view bytes);

}  // namespace profd
