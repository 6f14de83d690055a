// What a user asks of a profile's names and layout, whatever the format.
#pragma once

#include <string>

#include "profd/v1/profile.pb.h"

namespace profd::client {

struct ExportOptions {
  bool threads = false;     // folded, svg: the second frame is the thread
  bool signatures = false;  // native names with their parameters
  bool mangled = false;     // native names as the file has them
  bool lines = true;        // Python names with the line in their file
  std::string title{};      // svg, speedscope; empty: the command and its pid
};

// What is sampled decides what a weight is.
enum class Mode { kWall, kOnCpu, kOffCpu };
[[nodiscard]] inline Mode ModeOf(const v1::Profile& profile) {
  if (profile.on_cpu() == profile.off_cpu()) return Mode::kWall;
  return profile.on_cpu() ? Mode::kOnCpu : Mode::kOffCpu;
}

}  // namespace profd::client
