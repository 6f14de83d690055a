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

// `frames` are leaf first: kernel frames, then user frames, of which those of the interpreter know
// their CFA. By address: a segment belongs to the interpreter's frame whose part of the C stack
// holds its anchor, and stands before it, since what that frame calls comes before both. Segments
// of a version without anchors belong to the calls of the eval function, counted from the root; one
// more call may have begun at the leaf. Where either stack ends early they are counted from the
// leaf, if the innermost call is on its way to something else, or nothing but the interpreter's own
// frames are seen. Frames of the interpreter itself are marked.
//
// False when a segment finds no place, or a call that runs something has none: `frames` are as they
// were. Nothing is ever guessed: Python
// frames that are put somewhere stand where they belong. Where the native stack ends early,
// segments with anchors beyond its end stand there.
[[nodiscard]] bool Merge(const PythonStack& python, const wire::PythonProcessEvent& process,
                         bool native_is_complete, std::vector<process::AddressFrame>& frames);

// The same, of a process with several runtimes: `stacks` and `runtimes` by runtime, as many of
// each. Frames of several stand in the order of the native ones; false where these do not tell it.
[[nodiscard]] bool MergeAll(std::span<const PythonStack> stacks,
                            std::span<const wire::PythonProcessEvent> runtimes,
                            bool native_is_complete, std::vector<process::AddressFrame>& frames);

// Whether the stack of a thread that has no Python frames says so itself: no call of the eval
// function runs anything.
[[nodiscard]] bool HasNone(const wire::PythonProcessEvent& process,
                           const std::vector<process::AddressFrame>& frames);

}  // namespace profd::python
