// MemoryAccount: how much memory one part of profd holds, and how much it must free.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace profd::budget {

// Job: connects the part that holds memory with the memory budget. The thread that owns the part
// sets the bytes, which may be an estimate, and takes reclaim requests; it frees its oldest data
// when it next can. The memory thread reads the bytes and makes the requests.
// Owner: the part. It does not promise that a request is fulfilled, or when.
class MemoryAccount {
 public:
  // `name` must outlive this; `profctl status` shows it. `reclaimable`: false if the part frees its
  // memory only when its work is done; it gets no requests.
  explicit MemoryAccount(std::string_view name, bool reclaimable = true)
      : name_(name), reclaimable_(reclaimable) {}

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] bool reclaimable() const { return reclaimable_; }

  // --- the part
  void Set(std::uint64_t bytes) { bytes_.store(bytes, std::memory_order_relaxed); }
  // How many bytes the part must free now; 0: none. Each request is returned once.
  [[nodiscard]] std::uint64_t TakeReclaimRequest() {
    return requested_.load(std::memory_order_relaxed) == 0
               ? 0
               : requested_.exchange(0, std::memory_order_relaxed);
  }

  // --- the memory thread
  [[nodiscard]] std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  void RequestReclaim(std::uint64_t bytes) { requested_.store(bytes, std::memory_order_relaxed); }
  // Requested bytes that the part has not taken yet.
  [[nodiscard]] std::uint64_t requested() const {
    return requested_.load(std::memory_order_relaxed);
  }

 private:
  const std::string_view name_;
  const bool reclaimable_;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<std::uint64_t> requested_ = 0;
};

}  // namespace profd::budget
