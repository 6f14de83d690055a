// Merge: puts Python frames where they stand among the native ones.
#pragma once

#include <span>
#include <vector>

#include "daemon/process/sample.h"
#include "daemon/wire/event.h"

namespace profd::python {

// The frames of one stack that are of one runtime, leaf first.
struct PythonStack {
  // What one call of the eval function runs.
  struct Segment {
    std::vector<process::AddressFrame> frames;
    std::uint64_t anchor = 0;  // inside that call's C stack frame; 0: there is none
  };
  std::vector<Segment> segments;
  bool truncated = false;  // more frames towards the root than were kept
};

// A stack whose frames have no anchors: each is the only frame of its call.
[[nodiscard]] PythonStack OneCallEach(PythonStack stack);

// `frames` come with the leaf first: kernel frames, then user frames. The interpreter's frames know
// their CFA. A segment with an anchor belongs to the interpreter's frame whose part of the C stack
// holds the anchor. It stands before that frame, because the calls of its Python code come before
// both. Segments of a version without anchors belong to the calls of the eval function, counted
// from the root; one more call may have begun at the leaf. Where either stack ends early, they are
// counted from the leaf, if that is certain. Merge sets `interpreter` of the interpreter's own
// frames.
//
// False when a segment has no place, or a call that runs Python code has no segment: then `frames`
// are as they were. Merge never guesses: each Python frame stands where it belongs. Where the
// native stack ends early, segments with anchors beyond its end stand there.
[[nodiscard]] bool Merge(const PythonStack& python, const wire::PythonProcessEvent& process,
                         bool native_is_complete, std::vector<process::AddressFrame>& frames);

// The same, of a process with several runtimes: `stacks` and `runtimes` by runtime, as many of
// each. Their frames stand in the order of the native ones; false where that order is unknown.
[[nodiscard]] bool MergeAll(std::span<const PythonStack> stacks,
                            std::span<const wire::PythonProcessEvent> runtimes,
                            bool native_is_complete, std::vector<process::AddressFrame>& frames);

// Whether the native stack of a thread shows that it has no Python frames: no call of the eval
// function runs anything.
[[nodiscard]] bool HasNone(const wire::PythonProcessEvent& process,
                           const std::vector<process::AddressFrame>& frames);

}  // namespace profd::python
