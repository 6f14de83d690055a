// json: the complete profile; every other format can be made from it later.
#pragma once

#include <istream>

#include "client/format/exporter.h"

namespace profd::client {

// One line: {"format":"profd-profile","version":1,"profile":{...}}, where the profile is in the
// JSON mapping of proto/profd/v1/profile.proto, but for 64 bit numbers (ProtoJson): up to 2^53 - 1
// they are numbers, above that strings. Older files have strings for all of them; ReadJson takes
// both. Zeros are left out, sample columns stand side by side.
inline constexpr std::uint32_t kJsonVersion = 1;  // raised when an old reader would misunderstand
[[nodiscard]] Exporter JsonExporter();

inline constexpr std::size_t kMaxJsonBytes = 1u << 30;
inline constexpr std::size_t kMaxJsonObjects = 16u << 20;

// Reads what JsonExporter wrote. Fields it does not know are ignored, and the profile has passed
// CheckProfile. The input is hostile: kCorrupt says what it is not, kUnsupported that a newer profd
// wrote it, kExhausted that it is longer than `max_bytes` or holds more than kMaxJsonObjects, kIo
// that the stream failed.
[[nodiscard]] Result<v1::Profile> ReadJson(std::istream& in, std::size_t max_bytes = kMaxJsonBytes);

}  // namespace profd::client
