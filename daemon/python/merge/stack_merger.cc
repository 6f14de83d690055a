#include "daemon/python/merge/stack_merger.h"

#include <sys/syscall.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <utility>

#include "daemon/python/code/layout.h"

namespace profd::python {
namespace {

constexpr std::size_t kMaxInterpreters = 1'024;  // different versions and reasons

// Its own interpreter's, or that of a runtime's main one: a thread that has no state yet.
bool WaitsForGil(const wire::StackEvent& event,
                 std::span<const wire::PythonProcessEvent> runtimes) {
  if (event.syscall != SYS_futex) return false;
  return (event.python_flags & PROFD_PYTHON_GIL_FUTEX) != 0 ||
         std::ranges::any_of(runtimes, [&](const auto& runtime) {
           return runtime.gil.Contains(event.syscall_args[0]);
         });
}

// "3.12.1"; "3.12.1 + 3.11.7" of two runtimes; "" when it is not known.
std::string TextOf(std::span<const wire::PythonProcessEvent> runtimes) {
  std::string text;
  for (const wire::PythonProcessEvent& runtime : runtimes) {
    if (runtime.version == 0) continue;
    if (!text.empty()) text += " + ";
    text += VersionText(runtime.version);
  }
  return text;
}

// A holder may have to wait for the lock inside the GIL to give it back: it holds it still.
// `all_looked_at`: the BPF side has looked for a thread state in each runtime.
process::Gil GilOf(const wire::StackEvent& event, const process::Sample& sample,
                   bool all_looked_at) {
  const unsigned flags = event.python_flags;
  if ((flags & PROFD_PYTHON_PROCESS) == 0) return process::Gil::kUnknown;
  if ((flags & PROFD_PYTHON_GIL_HELD) != 0) return process::Gil::kHeld;
  if (sample.wait == process::WaitReason::kGil) return process::Gil::kWaited;
  if ((flags & PROFD_PYTHON_GIL_KNOWN) != 0) return process::Gil::kNotHeld;
  const bool no_state = all_looked_at && (flags & (PROFD_PYTHON_THREAD | PROFD_PYTHON_FAULT)) == 0;
  return no_state ? process::Gil::kNone : process::Gil::kUnknown;
}

}  // namespace

process::PythonInterpreterRef StackMerger::InterpreterOf(Runtimes runtimes) {
  // There are hardly ever ten; beyond the bound the map begins again.
  if (interpreters_.size() >= kMaxInterpreters) interpreters_.clear();
  Versions versions{};
  std::ranges::transform(runtimes, versions.begin(), &wire::PythonProcessEvent::version);
  auto& known = interpreters_[{versions, runtimes.front().reason}];
  if (!known)
    known = std::make_shared<const process::PythonInterpreter>(
        process::PythonInterpreter{TextOf(runtimes), runtimes.front().reason});
  return known;
}

StackMerger::Stacks StackMerger::Describe(const wire::StackEvent& event) {
  Stacks stacks;
  std::uint32_t runtime = 0;
  PythonStack::Segment segment;
  const auto end_segment = [&] {
    if (!segment.frames.empty()) stacks.at(runtime).segments.push_back(std::exchange(segment, {}));
  };
  for (const wire::PythonFrame& entry : event.python) {
    if (entry.runtime != runtime) end_segment();
    runtime = entry.runtime;
    if (entry.anchor) {
      segment.anchor = entry.address;
      stacks.at(runtime).segments.push_back(std::exchange(segment, {}));
      continue;
    }
    const Registry::Described described = registry_.Describe(event.header.process, entry);
    if (described.function == nullptr) continue;
    process::AddressFrame& frame = segment.frames.emplace_back();
    frame.address = entry.address;
    frame.python = described.function;
    frame.line = described.line;
  }
  // Of all frames together so many are kept.
  stacks.at(runtime).truncated = (event.python_flags & PROFD_PYTHON_TRUNCATED) != 0;
  if (stacks.at(runtime).truncated) segment.frames.emplace_back().python = registry_.truncated();
  end_segment();
  return stacks;
}

void StackMerger::Merge(const wire::StackEvent& event, process::Sample& sample) {
  Runtimes runtimes = registry_.RuntimesOf(event.header.process);
  sample.python_flags = event.python_flags;
  if (runtimes.empty()) return;
  if (sample.wait == process::WaitReason::kLock && WaitsForGil(event, runtimes))
    sample.wait = process::WaitReason::kGil;
  sample.interpreter = InterpreterOf(runtimes);
  // The BPF side has not looked at a runtime that it did not know by then.
  const std::size_t more = (event.python_flags & PROFD_PYTHON_MORE) >> PROFD_PYTHON_MORE_SHIFT;
  const std::size_t looked_at = std::min(runtimes.size(), more + 1);
  sample.gil = GilOf(event, sample, looked_at == runtimes.size());
  runtimes = runtimes.first(looked_at);
  // Where the frames are is not known, that memory could not be read, or it is another interpreter.
  constexpr unsigned kUnread = PROFD_PYTHON_THREAD | PROFD_PYTHON_FAULT;
  const auto has_none = [&](const auto& one) { return HasNone(one, sample.frames); };
  const bool missing = (event.python_flags & kUnread) == kUnread ||
                       ((event.python_flags & PROFD_PYTHON_PROCESS) != 0 &&
                        !std::ranges::all_of(runtimes, has_none));
  const bool torn =
      (event.python_flags & PROFD_PYTHON_TORN) != 0 || (event.python.empty() && missing);
  if (event.python.empty() && !torn) return;
  counters_.stacks.Add();
  if (torn) {
    counters_.failed.Add();
    sample.merge_failed = true;
    return;
  }
  if ((event.python_flags & (PROFD_PYTHON_TRUNCATED | PROFD_PYTHON_FAULT)) != 0)
    counters_.cut.Add();
  Stacks stacks = Describe(event);
  counters_.stale.Set(registry_.stale());
  counters_.unknown.Set(registry_.unknown());
  // Each frame of a version without anchors is a call of the eval function.
  for (std::size_t i = 0; i < runtimes.size(); ++i)
    if (runtimes[i].chain == PROFD_PYTHON_OBJECTS)
      stacks.at(i) = OneCallEach(std::move(stacks.at(i)));
  const bool complete = (event.stack_flags & PROFD_STACK_COMPLETE) != 0;
  const auto known = std::span<const PythonStack>(stacks).first(runtimes.size());
  const bool all_known = event.python.back().runtime < runtimes.size();
  if (all_known && MergeAll(known, runtimes, complete, sample.frames)) return;
  counters_.failed.Add();
  sample.merge_failed = true;
  for (PythonStack& stack : stacks)
    for (PythonStack::Segment& segment : stack.segments)
      std::ranges::move(segment.frames, std::back_inserter(sample.unmerged_python));
}

}  // namespace profd::python
