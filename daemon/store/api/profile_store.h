// ProfileStore: windows over time, and the profile of any time range. The seam between the daemon
// and the storage of its history.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/base/result.h"
#include "daemon/store/api/filter.h"

namespace profd::store {

// [from, to), ns since 1970. A window is in the range if any part of it is; windows are not split.
struct TimeRange {
  std::uint64_t from_unix_ns = 0;
  std::uint64_t to_unix_ns = UINT64_MAX;
};

struct StoreStatus {
  std::string path;               // "": in memory
  std::uint64_t bytes = 0;        // of all its files
  std::uint64_t limit_bytes = 0;  // 0: no limit
  std::uint64_t limit_ns = 0;     // 0: no limit
  std::uint64_t windows = 0;
  std::uint64_t first_unix_ns = 0;  // begin of the earliest window
  std::uint64_t last_unix_ns = 0;   // end of the latest window
  std::uint64_t puts = 0;           // since the store was opened, including failed ones
  std::uint64_t failed_puts = 0;
  std::uint64_t largest_put_bytes = 0;  // written by one Put, including compaction and drops
  std::string last_error;               // of the last Put; "": it succeeded
  std::vector<std::string> losses;      // messages about damage that Open or Put found
};

// One thread calls Put. Any thread may call Query and Status at any time.
class ProfileStore {
 public:
  virtual ~ProfileStore() = default;

  // Keeps the profile of one window. After an error all earlier windows are still there.
  [[nodiscard]] virtual Result<void> Put(const aggregate::Profile& window) = 0;

  // The parts of the windows in `range` that match `filter`, merged
  // (aggregate/merge/profile_merge.h) in the order of the puts. kNotFound: no window is in the
  // range. If nothing matches, the profile is empty. Thread clocks are exact. Samples are those of
  // the windows, except that samples of one thread, stack, state, wait reason, path, flags and GIL
  // word within one window may be summed (weights and counts added, the time of the first). The
  // size is bounded; `dropped` lists what was left out.
  [[nodiscard]] virtual Result<aggregate::Profile> Query(const TimeRange& range,
                                                         const Filter& filter) const = 0;

  [[nodiscard]] virtual StoreStatus Status() const = 0;

  // profd is ending: abandons work that may take long, now and from now on. Any thread.
  virtual void AbandonLongWork() {}
};

}  // namespace profd::store
