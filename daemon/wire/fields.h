// What the decoders of all kinds of events share: bounded reads of their fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/wire/event.h"

namespace profd::wire {

using Bytes = std::span<const std::byte>;

[[nodiscard]] Error Corrupt(std::uint16_t kind, std::string_view what);
[[nodiscard]] EventHeader HeaderFrom(const profd_event& event);
[[nodiscard]] std::string_view TextOf(Bytes bytes);
// `from` must hold them.
void ReadNumbers(Bytes from, std::size_t count, std::vector<std::uint64_t>& numbers);

// The fixed part of an event, and the tail that follows it; false when it is not all there.
template <typename Fixed>
[[nodiscard]] bool Split(Bytes bytes, Fixed& fixed, Bytes& tail) {
  if (bytes.size() < sizeof(Fixed)) return false;
  std::memcpy(&fixed, bytes.data(), sizeof(Fixed));
  tail = bytes.subspan(sizeof(Fixed));
  return true;
}

}  // namespace profd::wire
