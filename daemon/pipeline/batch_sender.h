// BatchSender: the producer's end of a queue of batches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "daemon/base/bounded_queue.h"
#include "daemon/base/counter.h"
#include "daemon/pipeline/pipeline_item.h"

namespace profd::pipeline {

template <typename T>
struct Batch {
  std::vector<T> items;
  std::uint64_t now_ns = 0;  // everything that happened a stated delay before this has been sent
};

// Sends whole batches to a consumer that is behind, so that the queue holds as much as it may; one
// that keeps up gets what there is. Never waits as long as dropping helps: when the queue is full,
// the samples of the batch at hand are dropped and counted, and the rest waits here for the next
// try. Only when the rest has grown to kMaxKept does the producer wait for room. Used by the
// producing thread.
template <typename T>
class BatchSender {
 public:
  static constexpr std::size_t kBatch = 512;
  static constexpr std::size_t kMaxKept = 65'536;
  static constexpr std::size_t kBehind = 4;  // batches that wait for the consumer
  // The time alone is sent so often at most: each sending wakes a thread.
  static constexpr std::uint64_t kQuietNs = 25'000'000;

  // Both must outlive this.
  BatchSender(BoundedQueue<Batch<T>>& queue, Counter& dropped) : queue_(queue), dropped_(dropped) {}

  void Add(T&& item) {
    batch_.items.push_back(std::move(item));
    if (batch_.items.size() >= kept_ + kBatch) Send(batch_.now_ns);
  }

  // Sends what there is, also nothing but the time.
  void Send(std::uint64_t now_ns) {
    batch_.now_ns = now_ns;
    if (batch_.items.empty() && now_ns < sent_ns_ + kQuietNs) return;
    if (batch_.items.size() < kept_ + kBatch && queue_.size() >= kBehind) return;
    if (queue_.TryPush(std::move(batch_))) {
      sent_ns_ = now_ns;
      Reset();
      return;
    }
    auto& items = batch_.items;
    const std::size_t before = items.size();
    const auto fresh = items.begin() + static_cast<std::ptrdiff_t>(kept_);
    items.erase(std::remove_if(fresh, items.end(), [](const T& item) { return MayDrop(item); }),
                items.end());
    dropped_.Add(before - items.size());
    kept_ = items.size();
    if (kept_ >= kMaxKept) SendAll();
  }

  // Waits for room; false when the queue is closed.
  bool SendAll() {
    const bool sent = queue_.Push(std::move(batch_));
    Reset();
    return sent;
  }

 private:
  void Reset() {
    batch_ = {};
    kept_ = 0;
  }

  BoundedQueue<Batch<T>>& queue_;
  Counter& dropped_;
  Batch<T> batch_;
  std::uint64_t sent_ns_ = 0;  // time of the last batch that was sent
  std::size_t kept_ = 0;       // items at the front that are there because the queue was full
};

}  // namespace profd::pipeline
