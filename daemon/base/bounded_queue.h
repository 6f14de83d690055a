// BoundedQueue: hands work from one thread to the next and never grows beyond its bound.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace profd {

// Any number of producers and consumers. The bound counts items; what an item weighs is the
// caller's choice (push batches). Close() lets consumers drain what is left, then end.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  // False, and `item` untouched, when full or closed: the caller counts it as dropped.
  [[nodiscard]] bool TryPush(T&& item) {
    std::unique_lock lock(mutex_);
    if (closed_ || items_.size() >= capacity_) return false;
    Add(std::move(item), lock);
    return true;
  }

  [[nodiscard]] std::size_t size() const {
    const std::scoped_lock lock(mutex_);
    return items_.size();
  }

  // Waits for room. False when closed or stopped.
  [[nodiscard]] bool Push(T&& item, const std::stop_token& stop = {}) {
    std::unique_lock lock(mutex_);
    if (!room_.wait(lock, stop, [this] { return closed_ || items_.size() < capacity_; }))
      return false;
    if (closed_) return false;
    Add(std::move(item), lock);
    return true;
  }

  // Waits for an item. Nothing when closed and empty, or stopped.
  [[nodiscard]] std::optional<T> Pop(const std::stop_token& stop = {}) {
    std::unique_lock lock(mutex_);
    if (!ready_.wait(lock, stop, [this] { return closed_ || !items_.empty(); }))
      return std::nullopt;
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    lock.unlock();
    room_.notify_one();
    return item;
  }

  void Close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    ready_.notify_all();
    room_.notify_all();
  }

 private:
  // Whom it wakes does not find the lock taken.
  void Add(T&& item, std::unique_lock<std::mutex>& lock) {
    items_.push_back(std::move(item));
    lock.unlock();
    ready_.notify_one();
  }

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable_any ready_;
  std::condition_variable_any room_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace profd
