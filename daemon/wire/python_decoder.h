// The Python part of stacks, and the events that explain it.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/wire/fields.h"

namespace profd::wire {

// False when the words do not end with a whole frame, or are more than there may be.
[[nodiscard]] bool ReadPythonFrames(std::span<const std::uint64_t> words,
                                    std::vector<PythonFrame>& frames);
[[nodiscard]] Result<Event> DecodePythonProcess(Bytes bytes);
[[nodiscard]] Result<Event> DecodePythonCode(Bytes bytes);

}  // namespace profd::wire
