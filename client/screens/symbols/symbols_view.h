// SymbolsView: where the names in a profile come from, and what would give the missing ones.
#pragma once

#include <cstddef>
#include <string>

#include "client/screens/symbols/module_rows.h"
#include "client/text/palette.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

struct SymbolsOptions {
  std::size_t width = 80;  // columns
  Palette palette;
  bool complete = false;  // every address without a name, and all that is known of each file
  DebugPackages packages;
};

// A row a module: frames, names, lines, where symbols are from; then what has no name and why, and
// what to install or start otherwise. The profile must have passed CheckProfile.
[[nodiscard]] std::string RenderSymbols(const v1::Profile& profile, const SymbolsOptions& options);

}  // namespace profd::client
