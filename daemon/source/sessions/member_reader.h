// MemberReader: the clocks of members of sessions as of the present epoch, and their processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/result.h"
#include "daemon/source/bpf/bpf_objects.h"
#include "daemon/source/procfs/process_reader.h"
#include "daemon/wire/event_bytes.h"

namespace profd::source {

// Job: runs the clock iterator until each clock could be read, and asks /proc about processes.
// Thread: any, one at a time: Sessions calls it with its lock held; the counters may be read by any
// thread. Owner: Sessions.
class MemberReader {
 public:
  // All must outlive this. `processes` answer by ProcessTextParsers. `counters`: those of the
  // programs, by enum profd_counter.
  MemberReader(BpfObjects& objects, const ProcFs& proc, reader::Readers& processes,
               const Clock& clock, std::function<std::vector<std::uint64_t>()> counters)
      : objects_(objects),
        reader_(proc, processes),
        clock_(clock),
        counters_(std::move(counters)) {}

  // CLOCK events of the members of any of these sessions, one bit each.
  [[nodiscard]] Result<std::vector<wire::EventBytes>> ReadClocks(std::uint64_t sessions);
  // PROCESS events of the processes of these clocks. A /proc reading takes 100 us.
  [[nodiscard]] std::vector<wire::EventBytes> ReadProcesses(
      std::span<const wire::EventBytes> clocks);

  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }
  [[nodiscard]] std::uint64_t clocks_unread() const { return clocks_unread_; }

 private:
  BpfObjects& objects_;
  ProcessReader reader_;
  const Clock& clock_;
  const std::function<std::vector<std::uint64_t>()> counters_;
  std::atomic<std::uint64_t> malformed_ = 0;
  std::atomic<std::uint64_t> clocks_unread_ = 0;
};

}  // namespace profd::source
