// MemoryThread: measures the memory of profd and keeps it below the cap.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "daemon/base/heartbeat.h"
#include "daemon/base/proc/own_usage.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/budget/memory/memory_budget.h"
#include "daemon/budget/memory/memory_controller.h"

namespace profd::budget {

// Job: reads what the kernel accounts to profd, lets MemoryController decide, updates MemoryBudget,
// and returns freed memory to the kernel.
// Thread: its own ("profd-memory"). It wakes every kInterval when profd is near the size at which
// parts must free memory, and more rarely when profd is farther below.
// Owner: the composition root. It does not wait for the parts: each frees memory at its own pace.
class MemoryThread {
 public:
  static constexpr std::chrono::milliseconds kInterval{50};

  // All must outlive this. `readers`: memory of other processes of profd, in bytes; cheap.
  // `beyond_resident`: kernel memory that resident memory does not include, less what it includes
  // twice, in bytes; called once a second.
  MemoryThread(MemoryBudget& budget, std::vector<MemoryAccount*> accounts, const ProcFs& proc,
               std::function<std::uint64_t()> readers,
               std::function<std::int64_t()> beyond_resident);
  ~MemoryThread();
  MemoryThread(const MemoryThread&) = delete;
  MemoryThread& operator=(const MemoryThread&) = delete;

  [[nodiscard]] MemoryStatus status() const;  // from any thread
  [[nodiscard]] const Heartbeat& heartbeat() const { return beat_; }
  void Stop();  // idempotent

 private:
  void Run(const std::stop_token& stop);
  void Update();

  MemoryBudget& budget_;
  const OwnResident resident_;
  const std::function<std::uint64_t()> readers_;
  const std::function<std::int64_t()> beyond_resident_;
  MemoryController controller_;
  std::int64_t beyond_bytes_ = 0;
  std::chrono::steady_clock::time_point beyond_read_;
  int ticks_ = 0;
  mutable std::mutex mutex_;
  MemoryStatus status_;
  Heartbeat beat_{"memory budget"};
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace profd::budget
