// StackMerger: the Python frames of samples, named and put among the native ones.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "bpf/shared/python_layout.h"
#include "daemon/base/counter.h"
#include "daemon/process/sample.h"
#include "daemon/python/feed/registry.h"
#include "daemon/python/merge/merge.h"
#include "daemon/wire/event.h"

namespace profd::python {

// Written by the worker thread; any thread may read.
struct MergeCounters {
  Counter stacks;   // with Python frames
  Counter failed;   // of those, not merged
  Counter cut;      // of those, cut: too deep, or memory that could not be read
  Counter stale;    // frames whose code object had gone when it was read
  Counter unknown;  // frames whose code object is not in the stream
};

// Takes events in order of time, and samples as the process stage has placed them. It puts the
// Python frames of a stack among the native ones. Frames without a certain place are kept apart in
// `unmerged_python`, and `merge_failed` is set. A wait for the interpreter's own lock becomes a
// wait for the GIL, and each sample gets the relation of its thread to the GIL. Owned and used by
// the worker thread; any thread may read the counters.
class StackMerger {
 public:
  // `counters` must outlive this.
  explicit StackMerger(MergeCounters& counters) : counters_(counters) {}

  void Apply(const wire::Event& event) { registry_.Observe(event); }
  // `event` is what `sample` was made of.
  void Merge(const wire::StackEvent& event, process::Sample& sample);

 private:
  using Runtimes = std::span<const wire::PythonProcessEvent>;
  using Stacks = std::array<PythonStack, PROFD_MAX_PYTHON_RUNTIMES>;
  using Versions = std::array<std::uint32_t, PROFD_MAX_PYTHON_RUNTIMES>;

  [[nodiscard]] Stacks Describe(const wire::StackEvent& event);
  [[nodiscard]] process::PythonInterpreterRef InterpreterOf(Runtimes runtimes);

  Registry registry_;
  // By the versions of a process's runtimes, and reason.
  std::map<std::pair<Versions, std::string>, process::PythonInterpreterRef> interpreters_;
  MergeCounters& counters_;
};

}  // namespace profd::python
