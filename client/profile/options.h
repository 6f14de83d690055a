// What a user asks of a profile's names and layout, whatever the format.
#pragma once

#include <string>

namespace profd::client {

// What stands behind the state of a blocked stack, of the path that says on whom it waits.
enum class PathDetail {
  kNone,
  kSteps,  // who is waited for, and how the path ends
  kStacks  // and their stacks
};

struct ExportOptions {
  bool threads = false;                    // folded, svg: the second frame is the thread
  bool signatures = false;                 // native names with their parameters
  bool mangled = false;                    // native names as the file has them
  bool lines = true;                       // Python names with the line in their file
  PathDetail on_whom = PathDetail::kNone;  // folded, svg, speedscope
  std::string title{};                     // svg, speedscope; empty: the command and its pid
};

}  // namespace profd::client
