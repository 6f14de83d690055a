// NamedCount: a number with a name for machines and a text for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace profd {

struct NamedCount {
  std::string name;  // of counters.h, lower case, or of a user-space stage
  std::string text;  // what it means
  std::uint64_t count = 0;
};

// What one part of profd reports about itself, zeros included.
struct Diagnostics {
  std::vector<NamedCount> gauges;    // go up and down; with the bound that they keep to
  std::vector<NamedCount> counters;  // since start
};

}  // namespace profd
