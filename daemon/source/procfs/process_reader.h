// ProcessReader: asks /proc about one process and lays the answer out as a PROCESS event.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpf/shared/events.h"
#include "daemon/base/keys.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/source/procfs/process_texts.h"
#include "daemon/source/procfs/user_names.h"
#include "daemon/wire/event_bytes.h"

namespace profd::source {

// Every answer is bounded; a part that cannot be read (no right, or a kernel thread) is empty. Used
// by one thread at a time. Takes some 50 us for a process of a few threads. What may wait for the
// process is read by a reader process; if that has no answer yet, the event is PROFD_TASK_PARTIAL.
class ProcessReader {
 public:
  struct Wanted {
    ProcessKey process;
    std::uint32_t tid = 0;      // a thread of it, to ask where the first thread has ended
    std::uint64_t time_ns = 0;  // of the event
  };
  // `readers` answer by ProcessTextParsers; they outlive this.
  ProcessReader(ProcFs proc, reader::Readers& readers, std::string passwd = "/etc/passwd")
      : proc_(std::move(proc)),
        texts_(readers),
        users_(std::make_shared<UserNames>(std::move(passwd))) {}

  // In the order of `wanted`: the more at once, the less each costs. Nothing when the process has
  // ended, or its number has passed to another one.
  [[nodiscard]] std::vector<std::optional<wire::EventBytes>> Read(std::span<const Wanted> wanted);
  [[nodiscard]] std::optional<wire::EventBytes> Read(ProcessKey process, std::uint32_t tid,
                                                     std::uint64_t time_ns) {
    const Wanted wanted{process, tid, time_ns};
    return std::move(Read({&wanted, 1}).front());
  }

 private:
  using Blobs = std::array<std::string, PROFD_BLOB_MAX>;

  // All but what may wait for the process.
  [[nodiscard]] Blobs ReadRest(const Wanted& wanted) const;
  [[nodiscard]] bool StillThere(ProcessKey process) const;
  [[nodiscard]] std::string ReadPart(const std::string& path, std::size_t max_bytes) const;
  [[nodiscard]] std::string ReadThreads(const std::string& directory) const;

  // PROFD_BLOB_USER.
  [[nodiscard]] std::string ReadUser(const std::string& directory, std::string_view status) const;

  ProcFs proc_;
  ProcessTextClient texts_;
  std::shared_ptr<UserNames> users_;
};

// The process that `id`, a pid or a tid, belongs to. kNotFound: no such process or thread.
[[nodiscard]] Result<std::uint32_t> ProcessOf(const ProcFs& proc, std::uint32_t id);

// Field 22 of /proc/PID/stat: clock ticks of 10 ms since boot. Nothing when `stat` makes no sense.
[[nodiscard]] std::optional<std::uint64_t> StartTicks(const std::string& stat);

}  // namespace profd::source
