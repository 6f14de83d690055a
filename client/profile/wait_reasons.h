// The wait reasons as the client shows them: names and colours, one entry for each of the protocol.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "profd/v1/profile.pb.h"

namespace profd::client {

struct WaitReasonEntry {
  v1::WaitReason reason;
  std::string_view frame;  // the last frame of a stack: "[blocked:lock]"
  // In the svg, on light and on dark paper. Empty: the colour of all blocked time.
  std::string_view light = {};
  std::string_view dark = {};
  bool is_pale = false;  // text on it has the ink of pale colours

  // "lock"; "" for none.
  [[nodiscard]] constexpr std::string_view name() const {
    const std::size_t colon = frame.find(':');
    return colon == std::string_view::npos ? "" : frame.substr(colon + 1, frame.size() - colon - 2);
  }
};

// Indexed by v1::WaitReason.
[[nodiscard]] std::span<const WaitReasonEntry> WaitReasons();
// WAIT_OTHER in the place of what a newer profd may know.
[[nodiscard]] const WaitReasonEntry& EntryOf(v1::WaitReason reason);

}  // namespace profd::client
