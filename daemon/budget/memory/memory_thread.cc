#include "daemon/budget/memory/memory_thread.h"

#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <utility>

namespace profd::budget {
namespace {

constexpr std::chrono::seconds kBeyondEvery(1);
constexpr int kTrimTicks = 4;

}  // namespace

MemoryThread::MemoryThread(MemoryBudget& budget, std::vector<MemoryAccount*> accounts,
                           const ProcFs& proc, std::function<std::uint64_t()> readers,
                           std::function<std::int64_t()> beyond_resident)
    : budget_(budget),
      resident_(proc),
      readers_(std::move(readers)),
      beyond_resident_(std::move(beyond_resident)),
      controller_(budget.cap_bytes(), std::move(accounts)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

MemoryThread::~MemoryThread() { Stop(); }

void MemoryThread::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

MemoryStatus MemoryThread::status() const {
  const std::scoped_lock lock(mutex_);
  return status_;
}

void MemoryThread::Run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "profd-memory");
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  const auto pause = [this] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(kInterval *
                                                                 controller_.IntervalScale());
  };
  const Heartbeat::Working working(beat_);
  while (!stopped.wait_for(lock, stop, pause(), [&] { return stop.stop_requested(); })) {
    Update();
    beat_.Beat();
  }
}

void MemoryThread::Update() {
  const auto now = std::chrono::steady_clock::now();
  if (ticks_++ == 0 || now - beyond_read_ >= kBeyondEvery) {
    beyond_bytes_ = beyond_resident_();
    beyond_read_ = now;
  }
  const auto held = static_cast<std::int64_t>(resident_.Bytes() + readers_());
  controller_.Update(static_cast<std::uint64_t>(std::max<std::int64_t>(held + beyond_bytes_, 0)));
  budget_.Update(controller_.dropping(), controller_.room_bytes());
  // The allocator keeps what parts free until it is trimmed. Near the cap it is trimmed regularly,
  // because memory that no account counts is freed, too.
  const bool due = controller_.urgent() && ticks_ % kTrimTicks == 0;
  if (controller_.TakeShrunk() || due) ::malloc_trim(0);
  const std::scoped_lock lock(mutex_);
  status_ = controller_.status();
}

}  // namespace profd::budget
