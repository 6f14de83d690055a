// What must hold for any input: in a fuzz target a failure has to end the program.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace profd::fuzz {

inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace profd::fuzz
