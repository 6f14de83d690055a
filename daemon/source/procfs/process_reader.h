// ProcessReader: asks /proc about one process and lays the answer out as a PROCESS event.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/keys.h"
#include "daemon/base/proc_fs.h"
#include "daemon/source/procfs/user_names.h"
#include "daemon/wire/event_bytes.h"

namespace profd::source {

// Every answer is bounded; a part that cannot be read (no right, or a kernel thread) is empty.
// Safe from any thread. Takes some 100 us for a process of a few threads.
class ProcessReader {
 public:
  explicit ProcessReader(ProcFs proc, std::string passwd = "/etc/passwd")
      : proc_(std::move(proc)), users_(std::make_shared<UserNames>(std::move(passwd))) {}

  // Nothing when `process` has ended, or its number has passed to another process. `tid` is a
  // thread of it to ask where the first thread has ended. The event is stamped `time_ns`.
  [[nodiscard]] std::optional<wire::EventBytes> Read(ProcessKey process, std::uint32_t tid,
                                                     std::uint64_t time_ns) const;

  // kNotFound: no such process or thread. The process that `id`, a pid or a tid, belongs to.
  [[nodiscard]] Result<std::uint32_t> ProcessOf(std::uint32_t id) const;

 private:
  [[nodiscard]] bool StillThere(ProcessKey process) const;
  [[nodiscard]] std::string ReadPart(const std::string& path, std::size_t max_bytes) const;
  [[nodiscard]] std::string ReadThreads(const std::string& directory) const;

  // PROFD_BLOB_USER.
  [[nodiscard]] std::string ReadUser(const std::string& directory, std::string_view status) const;

  ProcFs proc_;
  std::shared_ptr<UserNames> users_;
};

// Field 22 of /proc/PID/stat: clock ticks of 10 ms since boot. Nothing when `stat` makes no sense.
[[nodiscard]] std::optional<std::uint64_t> StartTicks(const std::string& stat);

}  // namespace profd::source
