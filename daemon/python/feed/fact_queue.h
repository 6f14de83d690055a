// FactQueue: facts about interpreters of processes, on their way from the service to the stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/keys.h"
#include "daemon/python/find/attachment.h"

namespace profd::python {

// Of one runtime of a process.
struct RuntimeFacts {
  std::uint32_t version = 0;                     // as PY_VERSION_HEX; 0: not known
  std::shared_ptr<const Attachment> attachment;  // null: it is not understood
  std::string reason;                            // why, or what else is not
  wire::AddressRange module;
};

// All facts about one process with an interpreter.
struct PythonFacts {
  ProcessKey process;
  std::vector<RuntimeFacts> runtimes;  // as the BPF side counts them; never empty
};

// Any thread may use it, and it never waits. Push refuses facts when the queue is full; the caller
// has to push them again. Owned by the composition root.
class FactQueue {
 public:
  static constexpr std::size_t kMaxFacts = 16'384;

  [[nodiscard]] bool Push(PythonFacts facts) {
    const std::scoped_lock lock(mutex_);
    if (facts_.size() >= kMaxFacts) return false;
    facts_.push_back(std::move(facts));
    any_.store(true, std::memory_order_release);
    return true;
  }
  // Cheap when there is nothing.
  [[nodiscard]] std::vector<PythonFacts> TakeAll() {
    if (!any_.load(std::memory_order_acquire)) return {};
    const std::scoped_lock lock(mutex_);
    any_.store(false, std::memory_order_relaxed);
    return std::exchange(facts_, {});
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> any_ = false;
  std::vector<PythonFacts> facts_;
};

}  // namespace profd::python
