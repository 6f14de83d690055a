// Reading BPF task iterators: here, or in a process that can be killed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/wire/event_bytes.h"

namespace profd::source {

// Runs the iterator behind `link_fd` over all tasks and returns what it wrote. Only for programs
// that cannot sleep: nothing stops them.
[[nodiscard]] Result<std::vector<std::byte>> ReadIterator(int link_fd);

// The same for a program that may sleep. It reads the memory of other processes and so waits for
// their locks and their pages; only a fatal signal ends the wait, and sometimes not even that. So
// the reading is done by a process of its own: no thread of ours can hang, and neither the end of a
// session nor that of profd waits for it. It shares nothing with us but a pipe and runs no code but
// a copy loop. Used by one thread at a time.
class KillableReader {
 public:
  struct Outcome {
    std::vector<std::byte> bytes;  // what came in time
    bool timed_out = false;
  };

  KillableReader() = default;
  KillableReader(const KillableReader&) = delete;
  KillableReader& operator=(const KillableReader&) = delete;
  ~KillableReader() { Reap(); }

  // Kills the reading process when `timeout` is over.
  [[nodiscard]] Result<Outcome> Read(int link_fd, std::chrono::milliseconds timeout);

 private:
  void Reap();

  // Killed, but held by the kernel still. They end when it lets go of them; they hold no file of
  // ours, and are reaped by the next call or, when profd is gone, by init.
  std::vector<pid_t> left_behind_;
};

// Cuts what an iterator wrote into events. Stops at the first that makes no sense, and says so.
[[nodiscard]] std::vector<wire::EventBytes> SplitEvents(std::span<const std::byte> bytes,
                                                        bool* malformed);

}  // namespace profd::source
