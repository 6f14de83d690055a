// MemoryStore: a history in memory, for a daemon that keeps none on disk and for tests.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>

#include "daemon/aggregate/merge/profile_merge.h"
#include "daemon/store/api/profile_store.h"

namespace profd::store {

// Keeps the last `max_windows` windows as they were put. Safe from any thread; Query copies
// references under the lock and merges without it.
class MemoryStore : public ProfileStore {
 public:
  explicit MemoryStore(std::size_t max_windows, const aggregate::MergeLimits& limits = {});

  [[nodiscard]] Result<void> Put(const aggregate::Profile& window) override;
  [[nodiscard]] Result<aggregate::Profile> Query(const TimeRange& range,
                                                 const Filter& filter) const override;
  [[nodiscard]] StoreStatus Status() const override;

 private:
  const std::size_t max_windows_;
  const aggregate::MergeLimits limits_;
  mutable std::mutex mutex_;
  std::deque<aggregate::ProfileRef> windows_;
  std::uint64_t puts_ = 0;
};

}  // namespace profd::store
