// MemoryKeeper: keeps what profd has in memory below its cap.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "daemon/base/own_usage.h"
#include "daemon/base/proc_fs.h"
#include "daemon/budget/memory_guard.h"
#include "daemon/budget/memory_share.h"

namespace profd::budget {

// Looks, on a thread of its own, at what the kernel says: resident memory, and what
// there is of maps beyond it; every kInterval where that is near what makes holders give up some,
// and less often the farther it is. Holders answer at their own pace; what they free goes
// back to the kernel at once. Owned by the composition root.
class MemoryKeeper {
 public:
  static constexpr std::chrono::milliseconds kInterval{50};

  // All must outlive this; `gate` is shut while memory is short. `beyond_resident`: what
  // the kernel has for profd beyond that, or less than none; called once a second.
  MemoryKeeper(std::uint64_t cap_bytes, std::vector<MemoryHolder> holders, MemoryGate& gate,
               const ProcFs& proc, std::function<std::int64_t()> beyond_resident);
  ~MemoryKeeper();
  MemoryKeeper(const MemoryKeeper&) = delete;
  MemoryKeeper& operator=(const MemoryKeeper&) = delete;

  [[nodiscard]] MemoryStatus status() const;
  void Stop();  // idempotent

 private:
  void Run(const std::stop_token& stop);
  void Look();

  MemoryGate& gate_;
  const OwnResident resident_;
  const std::function<std::int64_t()> beyond_resident_;
  MemoryGuard guard_;
  std::int64_t beyond_bytes_ = 0;
  std::chrono::steady_clock::time_point beyond_looked_;
  int looks_ = 0;
  mutable std::mutex mutex_;
  MemoryStatus status_;
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace profd::budget
