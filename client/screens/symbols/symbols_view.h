// SymbolsView: where the names in a profile come from, and what would give the missing ones.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "client/text/palette.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

struct SymbolsOptions {
  std::size_t width = 80;  // columns
  Palette palette;
  bool complete = false;  // every address without a name, and all that is known of each file
  // Debug packages by path of the module, where they are known.
  std::map<std::string, std::string> packages;
};

// A row a module: frames, names, lines, where symbols are from; then what has no name and why, and
// what to install. The profile must have passed CheckProfile.
[[nodiscard]] std::string RenderSymbols(const v1::Profile& profile, const SymbolsOptions& options);

// The same as one JSON object, ended by a newline; width, palette and `complete` do not matter.
[[nodiscard]] std::string SymbolsJson(const v1::Profile& profile, const SymbolsOptions& options);

// Modules whose debug file is not on the host, for whose packages it is worth looking.
[[nodiscard]] std::vector<std::string> ModulesToComplete(const v1::Profile& profile);

}  // namespace profd::client
