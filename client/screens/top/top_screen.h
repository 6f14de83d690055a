// TopScreen: the live table as lines of text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "client/screens/top/top_state.h"
#include "client/text/palette.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

struct TopScreenOptions {
  std::size_t width = 80;
  std::size_t height = 24;
  Palette palette;
};

// Rows of the table that a screen of this height shows.
[[nodiscard]] std::size_t TopPage(std::size_t height);

// A screen: exactly `height` lines of at most `width` columns. `profile` is the latest window, null
// before there is one; it must have passed CheckProfile. `note` stands in the place of the keys;
// may be empty. Keeps state.first_row inside the table.
[[nodiscard]] std::vector<std::string> RenderTopScreen(const v1::Profile* profile,
                                                       const std::string& note, TopState& state,
                                                       const TopScreenOptions& options);

inline constexpr std::size_t kTopBlockRows = 50;
// A window as lines for a file or a pipe: the same table, a time of day before it and an empty line
// behind it. At most kTopBlockRows rows unless it is to be complete.
[[nodiscard]] std::string RenderTopBlock(const v1::Profile& profile, const TopState& state,
                                         std::size_t width, const Palette& palette, bool complete);

}  // namespace profd::client
