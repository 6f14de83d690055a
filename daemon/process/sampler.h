// Sampler: StackEvent -> Sample. Each address gets its module, each wait its reason.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/base/counter.h"
#include "daemon/process/process_table.h"
#include "daemon/process/sample.h"
#include "daemon/wire/event.h"

namespace profd::process {

struct SamplerCounters {
  std::uint64_t samples = 0;
  std::uint64_t unknown_process = 0;  // samples of a process that is not known: no file for a frame
  std::uint64_t unplaced_frames = 0;  // user frames in no mapping of a process that is known
};

// Job: resolves addresses to modules. It must know which addresses are exact and which are return
// addresses:
// - The first kernel frame of an on-CPU sample is the interrupted instruction. All other kernel
//   frames are return addresses; a thread that waits has called into the scheduler.
// - The first user frame is exact where an interrupt or a fault stopped it. In a syscall it is the
//   instruction after `syscall`, which is as good as a return address: the function may end there.
// - Where a signal is returned from, and what it interrupted, are exact: the unwinder says so.
// - All other user frames are return addresses.
// A return address belongs to the mapping of the byte before it, because the call may be the last
// instruction of a mapping.
// Thread: the worker; Counters() may be called from any thread. Owner: WorkerStage.
class Sampler {
 public:
  // `processes` must outlive this.
  explicit Sampler(ProcessTable& processes) : processes_(processes) {}

  [[nodiscard]] Sample Place(const wire::StackEvent& event);
  [[nodiscard]] SamplerCounters Counters() const;

 private:
  void PlaceUserFrames(const wire::StackEvent& event, const ProcessTable::Process* process,
                       std::vector<AddressFrame>& frames);

  ProcessTable& processes_;
  Counter samples_;
  Counter unknown_process_;
  Counter unplaced_frames_;
};

}  // namespace profd::process
