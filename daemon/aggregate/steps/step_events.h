// StepEvents: where steps of a program began and ended, as a profile has it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace profd::aggregate {

// What was watched to see steps.
struct StepSource {
  std::string text;     // "uprobe:libfoo.so:work"
  std::string refused;  // why it was not watched; "": it was, or no process has it
  bool names = false;   // its events have names
  bool ends = false;    // ends are among them
};

struct StepEvent {
  std::uint64_t time_ns = 0;
  std::uint32_t thread = 0;  // index into threads
  std::uint32_t source = 0;  // index into sources
  std::uint32_t name = 0;    // index into names
  std::uint64_t object = 0;  // an address in the process, or 0
  bool end = false;  // of what began last in this thread, with this object, and has not ended
};

struct StepEvents {
  std::vector<StepSource> sources;
  std::vector<std::string> names;  // the first is ""
  std::vector<StepEvent> events;   // in order of time
};

}  // namespace profd::aggregate
