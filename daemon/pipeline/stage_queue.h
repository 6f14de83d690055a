// StageQueue: what goes from stage to stage, and how a stage sends it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/base/bounded_queue.h"
#include "daemon/base/counter.h"
#include "daemon/process/process_info.h"
#include "daemon/process/sample.h"
#include "daemon/wire/event.h"

namespace profd::pipeline {

// What the worker gives to the symbolizer thread, in order of time: a sample, or an event that says
// what samples mean, with what is known of its process at that moment (may be null).
struct PipelineItem {
  std::variant<process::Sample, wire::ClockEvent, wire::ForkEvent, wire::ExecEvent, wire::ExitEvent,
               wire::SessionEvent, wire::CountersEvent, wire::PeriodsEvent, wire::BeyondShareEvent,
               wire::LabelProcessEvent, wire::StepEvent, wire::StepSourceEvent, wire::SwitchEvent,
               wire::WakeEvent, wire::PmuEvent>
      what;
  process::ProcessInfoRef process;
};

// Memory of one entry in a queue, about.
inline constexpr std::uint64_t kEventBytes = 1u << 10;  // between reader and worker
inline constexpr std::uint64_t kItemBytes = 2u << 10;   // between worker and symbolizer

// A stage that falls behind may drop samples only: without the other events the sums of a profile
// would be wrong.
[[nodiscard]] inline bool MayDrop(const PipelineItem& item) {
  return std::holds_alternative<process::Sample>(item.what);
}
[[nodiscard]] inline bool MayDrop(const wire::Event& event) {
  return std::holds_alternative<wire::StackEvent>(event);
}

// Whose sample it is.
[[nodiscard]] inline std::uint32_t ProcessOf(const PipelineItem& item) {
  const auto* sample = std::get_if<process::Sample>(&item.what);
  return sample == nullptr ? 0 : sample->process.pid;
}
[[nodiscard]] inline std::uint32_t ProcessOf(const wire::Event& event) {
  return wire::HeaderOf(event).process.pid;
}

template <typename T>
struct Batch {
  std::vector<T> items;
  // The sender has sent everything that happened a stated delay before this. CLOCK_MONOTONIC.
  std::uint64_t now_ns = 0;
};

// Job: the producer's end of a queue of batches. A consumer that keeps up gets small batches at
// once; one that is behind gets whole batches, so that the queue holds as much as it may. When the
// queue is full, what must not be dropped waits here for the next try, and with it kShare samples
// of each process: what fills the queue, such as the clocks of very many threads, costs others
// none. Further samples are dropped and counted. The producer waits for room only when kMaxKept
// wait. Thread: the producing stage. Owner: the function that runs this stage.
template <typename T>
class BatchSender {
 public:
  static constexpr std::size_t kBatch = 512;
  static constexpr std::size_t kMaxKept = 65'536;
  static constexpr std::size_t kShare = 512;             // samples of a process that wait
  static constexpr std::size_t kMaxKeptSamples = 8'192;  // of all processes
  static constexpr std::size_t kBehind = 4;              // batches that wait for the consumer
  // A batch without items is sent so often at most, because each batch wakes a thread.
  static constexpr std::uint64_t kQuietNs = 25'000'000;

  // Both must outlive this.
  BatchSender(BoundedQueue<Batch<T>>& queue, Counter& dropped) : queue_(queue), dropped_(dropped) {}

  void Add(T&& item) {
    batch_.items.push_back(std::move(item));
    if (batch_.items.size() >= kept_ + kBatch) Send(batch_.now_ns);
  }

  // Sends the present batch and the time.
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
    items.erase(std::remove_if(fresh, items.end(),
                               [this](const T& item) { return MayDrop(item) && !MayWait(item); }),
                items.end());
    dropped_.Add(before - items.size());
    kept_ = items.size();
    if (kept_ >= kMaxKept) SendAll();
  }

  // Waits for room. False: the queue is closed.
  bool SendAll() {
    const bool sent = queue_.Push(std::move(batch_));
    Reset();
    return sent;
  }

 private:
  void Reset() {
    batch_ = {};
    kept_ = 0;
    kept_samples_ = 0;
    kept_of_.clear();
  }

  [[nodiscard]] bool MayWait(const T& sample) {
    if (kept_samples_ == kMaxKeptSamples) return false;
    std::size_t& of_process = kept_of_[ProcessOf(sample)];
    if (of_process == kShare) return false;
    ++of_process;
    ++kept_samples_;
    return true;
  }

  BoundedQueue<Batch<T>>& queue_;
  Counter& dropped_;
  Batch<T> batch_;
  std::uint64_t sent_ns_ = 0;     // time of the last batch that was sent
  std::size_t kept_ = 0;          // items at the front that wait because the queue was full
  std::size_t kept_samples_ = 0;  // of these
  std::unordered_map<std::uint32_t, std::size_t> kept_of_;  // ... by process
};

}  // namespace profd::pipeline
