// Unwinder: the BPF side loaded on its own, with tables published as the programs request them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bpf/shared/unwind_table.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/wire/event.h"

struct profd_bpf;
struct ring_buffer;
struct bpf_link;

namespace profd::unwind {

// Watches one process at a time. Used by one thread.
class Unwinder {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Unwinder>> Load();
  ~Unwinder();
  Unwinder(const Unwinder&) = delete;
  Unwinder& operator=(const Unwinder&) = delete;

  void Watch(std::uint32_t pid);
  // Stacks of its blocked threads; tables that are missing are published, and it is tried again.
  [[nodiscard]] std::vector<wire::StackEvent> Snapshot();
  // At most one user-mode stack of a running thread, by a perf event; tables as above.
  [[nodiscard]] std::vector<wire::StackEvent> SampleOnCpu();
  // Mean ns of one run of on_cpu_sample, as kernel accounting has it, while `pid` runs on its CPU.
  [[nodiscard]] double OnCpuCostNs();

 private:
  struct Maps;
  Unwinder();
  [[nodiscard]] Result<void> Open();
  [[nodiscard]] std::string ReadIterator(bpf_link* link) const;
  [[nodiscard]] std::vector<wire::StackEvent> ReadSnapshot() const;
  [[nodiscard]] UniqueFd OpenPerfEvent(std::uint64_t period_ns) const;
  // True when there were any.
  [[nodiscard]] bool PublishWanted();
  void Publish(const profd_wanted& wanted);

  std::unique_ptr<Maps> maps_;
  std::uint32_t pid_ = 0;
};

}  // namespace profd::unwind
