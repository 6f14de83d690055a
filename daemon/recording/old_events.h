// Events of recordings of earlier PROFD_EVENTS_VERSIONs, in the layout of the present one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace profd::recording {

// The same event in the present layout: itself where that has not changed, or else in `scratch`.
// One of an impossible size stays as it is: decoding refuses it.
[[nodiscard]] std::span<const std::byte> InPresentLayout(std::span<const std::byte> event,
                                                         std::uint32_t version,
                                                         std::vector<std::byte>& scratch);

}  // namespace profd::recording
