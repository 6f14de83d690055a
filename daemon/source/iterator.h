// Reading BPF task iterators: here, or in a process that can be killed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/source/event_bytes.h"

namespace profd::source {

// Runs the iterator behind `link_fd` over all tasks and returns what it wrote. Only for programs
// that cannot sleep: nothing stops them.
[[nodiscard]] Result<std::vector<std::byte>> ReadIterator(int link_fd);

struct KillableRead {
  std::vector<std::byte> bytes;  // what came in time
  bool timed_out = false;
};

// The same for a program that may sleep. It reads the memory of other processes and so waits for
// their locks; the wait ends only for a fatal signal. So the reading is done by a process of its
// own (no thread of ours can hang, and neither the end of a session nor that of profd waits for
// it), killed when `timeout` is over. It shares nothing but a pipe and runs no code but a copy
// loop.
[[nodiscard]] Result<KillableRead> ReadSleepableIterator(int link_fd,
                                                         std::chrono::milliseconds timeout);

// Cuts what an iterator wrote into events. Stops at the first that makes no sense, and says so.
[[nodiscard]] std::vector<EventBytes> SplitEvents(std::span<const std::byte> bytes,
                                                  bool* malformed);

}  // namespace profd::source
