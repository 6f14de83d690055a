// History: what calls see of the windows that the daemon keeps.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/store/api/profile_store.h"

namespace profd::history {

struct HistoryStatus {
  store::StoreStatus store;
  // Of the background session; 0: it does not run.
  std::uint64_t on_cpu_period_ns = 0;
  std::uint64_t off_cpu_period_ns = 0;
  std::uint64_t window_ns = 0;
  std::uint64_t windows_lost = 0;  // since start, before they came to the store
  // Of the last window whose profile was made (aggregate::WorstClosureError); none yet: nothing.
  std::optional<double> closure_error;
};

// All methods from any thread.
class History {
 public:
  virtual ~History() = default;
  [[nodiscard]] virtual const store::ProfileStore& store() const = 0;
  [[nodiscard]] virtual HistoryStatus Status() const = 0;
};

}  // namespace profd::history
