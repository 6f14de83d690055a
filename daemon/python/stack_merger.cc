#include "daemon/python/stack_merger.h"

#include <sys/syscall.h>

#include <cstddef>
#include <iterator>
#include <ranges>
#include <utility>

#include "daemon/python/layout.h"

namespace profd::python {
namespace {

constexpr std::size_t kMaxInterpreters = 1'024;  // different versions and reasons

// Its own interpreter's, or that of the main one: a thread that has no state yet.
bool WaitsForGil(const decode::StackEvent& event, const decode::PythonProcessEvent& process) {
  return event.syscall == SYS_futex && ((event.python_flags & PROFD_PYTHON_GIL_FUTEX) != 0 ||
                                        process.gil.Contains(event.syscall_args[0]));
}

// A holder may have to wait for the lock inside the GIL to give it back: it holds it still.
process::Gil GilOf(const decode::StackEvent& event, const process::Sample& sample) {
  const unsigned flags = event.python_flags;
  if ((flags & PROFD_PYTHON_PROCESS) == 0) return process::Gil::kUnknown;
  if ((flags & PROFD_PYTHON_GIL_HELD) != 0) return process::Gil::kHeld;
  if (sample.wait == process::WaitReason::kGil) return process::Gil::kWaited;
  if ((flags & PROFD_PYTHON_GIL_KNOWN) != 0) return process::Gil::kNotHeld;
  const bool no_state = (flags & (PROFD_PYTHON_THREAD | PROFD_PYTHON_FAULT)) == 0;
  return no_state ? process::Gil::kNone : process::Gil::kUnknown;
}

}  // namespace

process::PythonInterpreterRef StackMerger::InterpreterOf(
    const decode::PythonProcessEvent& process) {
  if (interpreters_.size() >= kMaxInterpreters) interpreters_.clear();
  auto& known = interpreters_[{process.version, process.reason}];
  if (!known)
    known = std::make_shared<const process::PythonInterpreter>(process::PythonInterpreter{
        process.version == 0 ? "" : VersionText(process.version), process.reason});
  return known;
}

PythonStack StackMerger::Describe(const decode::StackEvent& event) {
  PythonStack stack;
  stack.truncated = (event.python_flags & PROFD_PYTHON_TRUNCATED) != 0;
  PythonStack::Segment segment;
  for (const decode::PythonFrame& entry : event.python) {
    if (entry.anchor) {
      segment.anchor = entry.address;
      stack.segments.push_back(std::exchange(segment, {}));
      continue;
    }
    const Registry::Described described = registry_.Describe(event.header.process, entry);
    if (described.function == nullptr) continue;
    process::AddressFrame& frame = segment.frames.emplace_back();
    frame.address = entry.address;
    frame.python = described.function;
    frame.line = described.line;
  }
  if (stack.truncated) segment.frames.emplace_back().python = registry_.truncated();
  if (!segment.frames.empty()) stack.segments.push_back(std::move(segment));
  return stack;
}

void StackMerger::Merge(const decode::StackEvent& event, process::Sample& sample) {
  const decode::PythonProcessEvent* process = registry_.FindProcess(event.header.process);
  sample.python_flags = event.python_flags;
  if (process == nullptr) return;
  if (sample.wait == process::WaitReason::kLock && WaitsForGil(event, *process))
    sample.wait = process::WaitReason::kGil;
  sample.gil = GilOf(event, sample);
  sample.interpreter = InterpreterOf(*process);
  // Where the frames are is not known, that memory could not be read, or it is another interpreter.
  constexpr unsigned kUnread = PROFD_PYTHON_THREAD | PROFD_PYTHON_FAULT;
  const bool missing =
      (event.python_flags & kUnread) == kUnread ||
      ((event.python_flags & PROFD_PYTHON_PROCESS) != 0 && !HasNone(*process, sample.frames));
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
  PythonStack stack = Describe(event);
  counters_.stale.Set(registry_.stale());
  counters_.unknown.Set(registry_.unknown());
  // Each frame of a version without anchors is a call of the eval function.
  if (process->chain == PROFD_PYTHON_OBJECTS) stack = OneCallEach(std::move(stack));
  const bool complete = (event.stack_flags & PROFD_STACK_COMPLETE) != 0;
  if (python::Merge(stack, *process, complete, sample.frames)) return;
  counters_.failed.Add();
  sample.merge_failed = true;
  for (PythonStack::Segment& segment : stack.segments)
    std::ranges::move(segment.frames, std::back_inserter(sample.unmerged_python));
}

}  // namespace profd::python
