#include "daemon/python/stack_merger.h"

#include <sys/syscall.h>

#include <iterator>
#include <ranges>
#include <utility>

namespace profd::python {
namespace {

bool WaitsForGil(const decode::StackEvent& event, const decode::PythonProcessEvent& process) {
  return event.syscall == SYS_futex && process.gil.Contains(event.syscall_args[0]);
}

}  // namespace

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
    process::AddressFrame& frame = segment.frames.emplace_back();
    frame.address = entry.address;
    frame.python = described.function;
    frame.line = described.line;
  }
  if (!segment.frames.empty()) stack.segments.push_back(std::move(segment));
  return stack;
}

void StackMerger::Merge(const decode::StackEvent& event, process::Sample& sample) {
  const decode::PythonProcessEvent* process = registry_.FindProcess(event.header.process);
  sample.python_flags = event.python_flags;
  if (process == nullptr) return;
  if (sample.wait == process::WaitReason::kLock && WaitsForGil(event, *process))
    sample.wait = process::WaitReason::kGil;
  if (event.python.empty()) return;
  counters_.stacks.Add();
  PythonStack stack = Describe(event);
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
