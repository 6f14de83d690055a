// History: the windows that the daemon keeps, as calls see them.
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
  bool observed = false;           // in snapshot mode
  std::uint64_t windows_lost = 0;  // since start; they did not reach the store
  // Closure errors of the last window whose profile was built: of its worst thread, and of the sum
  // of its threads (aggregate::WorstClosureError, SumClosureError). Nothing: no window yet.
  std::optional<double> worst_closure_error;
  std::optional<double> sum_closure_error;
};

// All methods may be called from any thread.
class History {
 public:
  virtual ~History() = default;
  [[nodiscard]] virtual const store::ProfileStore& store() const = 0;
  [[nodiscard]] virtual HistoryStatus Status() const = 0;
};

}  // namespace profd::history
