// DiffFunctions: what two profiles say of each function and of each state.
#pragma once

#include <string>
#include <vector>

#include "client/profile/diff.h"

namespace profd::client {

// "running", "runnable", "lock": a state, blocked by reason.
struct DiffState {
  std::string name;
  NodeKind kind = NodeKind::kRunning;
  DiffTime time;
};

struct DiffFunction {
  std::string name;
  NodeKind kind = NodeKind::kNative;
  DiffTime total;                 // of stacks that it is in, a recursion counted once
  DiffTime self;                  // of those in which it is the last
  std::vector<DiffState> states;  // of `total`; those without time are left out
};

// Running, runnable, then blocked, the largest change first.
[[nodiscard]] std::vector<DiffState> DiffStates(const Diff& diff);

// Kernel functions count as part of what called them, where that is known, or are functions like
// any other.
enum class KernelFunctions { kPartOfCaller, kApart };

// By change of `total`, largest first, then by name. Processes, threads and states are no
// functions.
[[nodiscard]] std::vector<DiffFunction> DiffFunctions(const Diff& diff, KernelFunctions kernel);

}  // namespace profd::client
