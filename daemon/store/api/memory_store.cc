#include "daemon/store/api/memory_store.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace profd::store {
namespace {

std::uint64_t EndUnixNs(const aggregate::Profile& window) {
  return window.start_unix_ns + (std::max(window.end_ns, window.start_ns) - window.start_ns);
}

}  // namespace

MemoryStore::MemoryStore(std::size_t max_windows, const aggregate::MergeLimits& limits)
    : max_windows_(max_windows), limits_(limits) {}

Result<void> MemoryStore::Put(const aggregate::Profile& window) {
  auto kept = std::make_shared<const aggregate::Profile>(window);
  const std::lock_guard lock(mutex_);
  ++puts_;
  windows_.push_back(std::move(kept));
  while (windows_.size() > max_windows_) windows_.pop_front();
  return {};
}

Result<aggregate::Profile> MemoryStore::Query(const TimeRange& range, const Filter& filter) const {
  std::vector<aggregate::ProfileRef> windows;
  {
    const std::lock_guard lock(mutex_);
    std::copy_if(windows_.begin(), windows_.end(), std::back_inserter(windows),
                 [&](const auto& window) {
                   return window->start_unix_ns < range.to_unix_ns &&
                          EndUnixNs(*window) > range.from_unix_ns;
                 });
  }
  if (windows.empty())
    return Error{ErrorCode::kNotFound, "there is no window in this time range", {}};
  for (auto& window : windows) {
    auto selected = Select(*window, filter);
    selected.nodes = window->nodes;
    selected.frames = window->frames;
    window = std::make_shared<const aggregate::Profile>(std::move(selected));
  }
  return aggregate::MergeProfiles(windows, limits_);
}

StoreStatus MemoryStore::Status() const {
  const std::lock_guard lock(mutex_);
  StoreStatus status;
  status.windows = windows_.size();
  status.puts = puts_;
  if (windows_.empty()) return status;
  status.first_unix_ns = UINT64_MAX;
  for (const auto& window : windows_) {
    status.first_unix_ns = std::min(status.first_unix_ns, window->start_unix_ns);
    status.last_unix_ns = std::max(status.last_unix_ns, EndUnixNs(*window));
  }
  return status;
}

}  // namespace profd::store
