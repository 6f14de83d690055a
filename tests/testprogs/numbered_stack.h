// A stack of its own for every number.
#pragma once

#include <cstdint>

namespace profd::testprog {

// Calls `depth` functions one from another, of which each bit of `path` chooses one.
void RunNumberedStack(std::uint64_t path, std::uint32_t depth);

}  // namespace profd::testprog
