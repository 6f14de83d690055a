// What a user asks of a profile's names and layout, whatever the format.
#pragma once

#include <string>

namespace profd::client {

struct ExportOptions {
  bool threads = false;     // folded, svg: the second frame is the thread
  bool signatures = false;  // native names with their parameters
  bool mangled = false;     // native names as the file has them
  bool lines = true;        // Python names with the line in their file
  std::string title{};      // svg, speedscope; empty: the command and its pid
};

}  // namespace profd::client
