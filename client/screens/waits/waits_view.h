// Who waits for whom, as a table.
#pragma once

#include <cstddef>
#include <string>

#include "client/profile/waits/wait_table.h"
#include "client/text/palette.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

struct WaitsOptions {
  std::size_t width = 80;  // columns
  Palette palette{};
  bool complete = false;  // all rows
};

// A row for each group of waiters, reason and group that ends the waits: their time, its share of
// the waiter's blocked time, how many of the sampled waits it ended and how many of these wake-ups
// were spurious, and where the paths end. A narrow one has neither times nor spurious wake-ups.
// Below it are groups that wait for each other.
[[nodiscard]] std::string RenderWaits(const v1::Profile& profile, const WaitsOptions& options);

}  // namespace profd::client
