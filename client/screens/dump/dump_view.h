// A dump as text for a terminal, and as JSON.
#pragma once

#include <cstddef>
#include <string>

#include "client/profile/stack_names.h"
#include "client/text/palette.h"
#include "profd/v1/dump.pb.h"

namespace profd::client {

struct DumpOptions {
  std::size_t width = 80;  // columns
  Palette palette{};
  bool interpreter_frames = false;  // native frames of Python interpreters, too
  FrameStyle style{};
};

// A header for each process, then its threads with their stacks, leaf first. Native frames stand
// further right than the Python frames that called them. The dump must have passed CheckDump.
[[nodiscard]] std::string RenderDump(const v1::Dump& dump, const DumpOptions& options);

}  // namespace profd::client
