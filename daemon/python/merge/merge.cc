#include "daemon/python/merge/merge.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "bpf/shared/python_layout.h"

namespace profd::python {
namespace {

using process::AddressFrame;
using Frames = std::vector<AddressFrame>;
using Segment = PythonStack::Segment;

// For each segment, the index of the native frame before which it stands; the number of frames when
// it lies beyond the end of the native stack.
using Places = std::vector<std::size_t>;

bool IsEval(const AddressFrame& frame, const wire::PythonProcessEvent& process) {
  if (frame.kernel) return false;
  // A return address is behind its call, which may be the last instruction of its function.
  const bool after_call = frame.return_address && frame.address > 0;
  return process.eval.Contains(after_call ? frame.address - 1 : frame.address);
}

// Frames lie one after the other on the C stack and a CFA is the end of a frame. So the first frame
// whose CFA is above the address holds it. The search begins at `from`.
std::optional<std::size_t> FrameAround(std::uint64_t address, std::size_t from,
                                       const Frames& frames) {
  for (std::size_t i = from; i < frames.size(); ++i)
    if (frames[i].cfa > address) return i;
  return std::nullopt;
}

std::optional<std::size_t> NextEval(std::size_t from, const Frames& frames,
                                    const wire::PythonProcessEvent& process) {
  for (std::size_t i = from; i < frames.size(); ++i)
    if (IsEval(frames[i], process)) return i;
  return std::nullopt;
}

// Whether this is the innermost frame of user code.
bool IsLeaf(std::size_t index, const Frames& frames) {
  return index == 0 || frames[index - 1].kernel;
}

// Whether a call of the eval function may have no Python frame: it has none while it is entered and
// after it has left its frame. Such a call is the leaf, or the interpreter's functions that check
// its result stand on top of it, at most `depth` of them. Every other call has a Python frame.
bool MayHaveNone(std::size_t call, const Frames& frames, const wire::PythonProcessEvent& process,
                 std::size_t depth = 1) {
  for (; !IsLeaf(call, frames); --call, --depth)
    if (depth == 0 || !process.module.Contains(frames[call - 1].address)) return false;
  return true;
}

// _Py_CheckFunctionResult and PyErr_Occurred run after the eval function has left its frame.
constexpr std::size_t kLooksAtResult = 2;

// Whether any of the first `end` frames is a call that certainly runs Python code. The last frame
// of a cut stack has no CFA and does not count: which frames it holds is unknown.
bool AnyCallRuns(std::size_t end, const Frames& frames, const wire::PythonProcessEvent& process) {
  for (std::size_t i = 0; i < end; ++i)
    if (frames[i].cfa != 0 && IsEval(frames[i], process) && !MayHaveNone(i, frames, process))
      return true;
  return false;
}

std::optional<Places> PlaceByAnchors(const PythonStack& python,
                                     const wire::PythonProcessEvent& process,
                                     bool native_is_complete, const Frames& frames) {
  Places places;
  std::size_t from = 0;
  for (const Segment& segment : python.segments) {
    // A segment without an anchor is the rest of a stack that is deeper than the BPF side keeps.
    // It belongs to the next call. If no segment came before it and the walk ended for another
    // reason, the call that it belongs to is unknown.
    const bool rest = segment.anchor == 0;
    if (rest && places.empty() && !python.truncated) return std::nullopt;
    const auto place = rest ? NextEval(places.empty() ? 0 : from + 1, frames, process)
                            : FrameAround(segment.anchor, from, frames);
    // A segment may lie beyond the end of a native stack that ends early. A segment without frames
    // belongs to code that runs outside of the eval function, and needs no place.
    if (!place && !segment.frames.empty() && native_is_complete) return std::nullopt;
    places.push_back(place.value_or(frames.size()));
    from = places.back();
  }
  // A call before the first segment runs code of another thread state, which belongs to another
  // interpreter; its frames were not walked.
  if (AnyCallRuns(places.front(), frames, process)) return std::nullopt;
  return places;
}

// Both stacks are whole, so the calls and the segments are counted from the root. One more call may
// have begun or ended at the leaf.
std::optional<Places> PlaceFromRoot(const PythonStack& python,
                                    const wire::PythonProcessEvent& process, const Frames& frames) {
  std::vector<std::size_t> calls;
  for (std::size_t i = 0; i < frames.size(); ++i)
    if (IsEval(frames[i], process)) calls.push_back(i);
  const std::size_t segments = python.segments.size();
  if (calls.size() < segments || calls.size() > segments + 1) return std::nullopt;
  if (calls.size() > segments && !MayHaveNone(calls.front(), frames, process, kLooksAtResult))
    return std::nullopt;
  return Places(calls.end() - static_cast<std::ptrdiff_t>(segments), calls.end());
}

// A stack that ends early has no root to count from, so the calls are counted from the leaf. This
// is right if the innermost call certainly has a Python frame. If it may have none, the result is
// the same only where the stack holds nothing but frames of the interpreter and the kernel. Without
// any call, all Python frames lie beyond the end of the native stack.
std::optional<Places> PlaceFromLeaf(const PythonStack& python,
                                    const wire::PythonProcessEvent& process,
                                    bool native_is_complete, const Frames& frames) {
  Places places;
  auto call = NextEval(0, frames, process);
  const auto is_own = [&](const AddressFrame& frame) {
    return frame.kernel || process.module.Contains(frame.address);
  };
  if (call && MayHaveNone(*call, frames, process) && !std::ranges::all_of(frames, is_own))
    return std::nullopt;
  for (std::size_t i = 0; i < python.segments.size(); ++i) {
    if (!call && native_is_complete) return std::nullopt;
    places.push_back(call.value_or(frames.size()));
    if (call) call = NextEval(*call + 1, frames, process);
  }
  return places;
}

std::optional<Places> Place(const PythonStack& python, const wire::PythonProcessEvent& process,
                            bool native_is_complete, const Frames& frames) {
  if (process.chain != PROFD_PYTHON_OBJECTS)
    return PlaceByAnchors(python, process, native_is_complete, frames);
  const bool whole = native_is_complete && !python.truncated;
  return whole ? PlaceFromRoot(python, process, frames)
               : PlaceFromLeaf(python, process, native_is_complete, frames);
}

struct Placed {
  std::size_t place = 0;
  std::size_t runtime = 0;
  const Segment* segment = nullptr;
};

// `placed` is in order of place. No native frame runs code of two runtimes, so two segments of one
// place must belong to one runtime. Beyond the end of a cut stack the order of two runtimes is
// unknown.
bool IsOrderKnown(const std::vector<Placed>& placed,
                  std::span<const wire::PythonProcessEvent> runtimes, const Frames& frames) {
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const Placed& one = placed[i];
    if (i > 0 && placed[i - 1].place == one.place && placed[i - 1].runtime != one.runtime)
      return false;
    if (one.place == frames.size()) continue;
    for (std::size_t other = 0; other < runtimes.size(); ++other)
      if (other != one.runtime && runtimes[other].module.Contains(frames[one.place].address))
        return false;
  }
  return true;
}

}  // namespace

PythonStack OneCallEach(PythonStack stack) {
  PythonStack split{.segments = {}, .truncated = stack.truncated};
  for (Segment& segment : stack.segments)
    for (AddressFrame& frame : segment.frames)
      split.segments.push_back({.frames = {std::move(frame)}, .anchor = 0});
  return split;
}

bool HasNone(const wire::PythonProcessEvent& process,
             const std::vector<process::AddressFrame>& frames) {
  return !AnyCallRuns(frames.size(), frames, process);
}

bool Merge(const PythonStack& python, const wire::PythonProcessEvent& process,
           bool native_is_complete, std::vector<process::AddressFrame>& frames) {
  return MergeAll({&python, 1}, {&process, 1}, native_is_complete, frames);
}

bool MergeAll(std::span<const PythonStack> stacks,
              std::span<const wire::PythonProcessEvent> runtimes, bool native_is_complete,
              std::vector<process::AddressFrame>& frames) {
  if (std::ranges::all_of(stacks, [](const auto& one) { return one.segments.empty(); }))
    return true;
  std::vector<Placed> placed;
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    const PythonStack& stack = stacks[i];
    if (stack.segments.empty()) {
      // Frames of this runtime are missing where a call of it runs code: the others would close up
      // over the gap.
      if (stacks.size() > 1 && !HasNone(runtimes[i], frames)) return false;
      continue;
    }
    const auto places = Place(stack, runtimes[i], native_is_complete, frames);
    if (!places) return false;
    // A segment without frames shows nothing. It took part in the search for the places of the
    // others.
    for (std::size_t k = 0; k < places->size(); ++k)
      if (!stack.segments[k].frames.empty())
        placed.push_back({(*places)[k], i, &stack.segments[k]});
  }
  std::ranges::stable_sort(placed, {}, &Placed::place);
  if (!IsOrderKnown(placed, runtimes, frames)) return false;

  // The BPF side keeps CFAs of the interpreter's frames only. The last frame of a cut stack has
  // none, so there its module decides.
  const auto is_own = [&](const AddressFrame& frame) {
    return frame.cfa != 0 || std::ranges::any_of(runtimes, [&](const auto& runtime) {
             return runtime.module.Contains(frame.address);
           });
  };
  // Nothing can fail from here on, so `frames` may be moved from.
  Frames merged;
  auto next = placed.begin();
  for (std::size_t i = 0; i < frames.size(); ++i) {
    for (; next != placed.end() && next->place <= i; ++next)
      std::ranges::copy(next->segment->frames, std::back_inserter(merged));
    AddressFrame& frame = merged.emplace_back(std::move(frames[i]));
    frame.interpreter = !frame.kernel && is_own(frame);
  }
  for (; next != placed.end(); ++next)
    std::ranges::copy(next->segment->frames, std::back_inserter(merged));
  frames = std::move(merged);
  return true;
}

}  // namespace profd::python
