// ProfileStore: windows over time, and the profile of any stretch of it. Seam between the daemon
// and what keeps its history.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/base/result.h"
#include "daemon/store/api/filter.h"

namespace profd::store {

// [from, to), ns since 1970. A window is in the range if any part of it is: they are not divided.
struct TimeRange {
  std::uint64_t from_unix_ns = 0;
  std::uint64_t to_unix_ns = UINT64_MAX;
};

struct StoreStatus {
  std::string path;               // "" for one in memory
  std::uint64_t bytes = 0;        // all files of it
  std::uint64_t limit_bytes = 0;  // 0: none
  std::uint64_t limit_ns = 0;     // 0: none
  std::uint64_t windows = 0;
  std::uint64_t first_unix_ns = 0;  // begin of the first one, by time
  std::uint64_t last_unix_ns = 0;   // end of the last one, by time
  std::uint64_t puts = 0;           // since it was opened, with those that failed
  std::uint64_t failed_puts = 0;
  std::uint64_t largest_put_bytes = 0;  // that one Put has written, folding and dropping included
  std::string last_error;               // of a Put that failed; "" after one that succeeded
  std::vector<std::string> losses;      // what was found lost when it was opened, in words
};

// Put is called by one thread; Query and Status by any, at any time.
class ProfileStore {
 public:
  virtual ~ProfileStore() = default;

  // Keeps the profile of one window, or says why not; then those before it are still there.
  [[nodiscard]] virtual Result<void> Put(const aggregate::Profile& window) = 0;

  // What the windows of `range` say of whatever passes `filter`, merged (aggregate/profile_merge.h)
  // in the order in which they were put. kNotFound when there is no window in the range; an empty
  // profile when nothing passes. Its thread clocks are exact; its samples are those of the windows,
  // except that samples of one thread, stack, state, wait reason, flags and GIL word within one
  // window may have become one (weights and counts added, the time of the first). Bounded: what
  // was left out for it is in `dropped`.
  [[nodiscard]] virtual Result<aggregate::Profile> Query(const TimeRange& range,
                                                         const Filter& filter) const = 0;

  [[nodiscard]] virtual StoreStatus Status() const = 0;

  // profd is ending: what may take long is given up, now and from now on. Any thread.
  virtual void Hurry() {}
};

}  // namespace profd::store
