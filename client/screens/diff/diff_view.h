// DiffView: two profiles compared, as text for a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "client/profile/diff.h"
#include "client/text/palette.h"

namespace profd::client {

struct DiffViewOptions {
  std::size_t width = 80;  // columns
  Palette palette{};
  bool complete = false;  // all functions, those of the kernel apart; else only what changed
  std::string footer{};   // a line on what to do next; may be empty
};

// What is compared, all time by state, and the functions whose time changed most, in all and in
// themselves, with the states that the change is in. What may be chance is marked with `~`, and
// functions whose change is no more than that are left out.
[[nodiscard]] std::string RenderDiff(const Diff& diff, const DiffViewOptions& options);

}  // namespace profd::client
