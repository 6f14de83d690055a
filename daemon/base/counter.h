// Counter: a number that one thread raises and any thread may read.
#pragma once

#include <atomic>
#include <cstdint>

namespace profd {

// One writer at a time. Readers see a value that was true a moment ago; no order between counters.
class Counter {
 public:
  void Add(std::uint64_t count = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  void Set(std::uint64_t count) { value_.store(count, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

}  // namespace profd
