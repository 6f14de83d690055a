#include "daemon/budget/memory_keeper.h"

#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <utility>

namespace profd::budget {
namespace {

constexpr std::chrono::seconds kBeyondEvery(1);
constexpr int kTrimLooks = 4;

}  // namespace

MemoryKeeper::MemoryKeeper(std::uint64_t cap_bytes, std::vector<MemoryHolder> holders,
                           MemoryGate& gate, const ProcFs& proc,
                           std::function<std::int64_t()> beyond_resident)
    : gate_(gate),
      resident_(proc),
      beyond_resident_(std::move(beyond_resident)),
      guard_(cap_bytes, std::move(holders)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

MemoryKeeper::~MemoryKeeper() { Stop(); }

void MemoryKeeper::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

MemoryStatus MemoryKeeper::status() const {
  const std::scoped_lock lock(mutex_);
  return status_;
}

void MemoryKeeper::Run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "profd-memory");
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  const auto pause = [this] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(kInterval *
                                                                 guard_.IntervalScale());
  };
  while (!stopped.wait_for(lock, stop, pause(), [&] { return stop.stop_requested(); })) Look();
}

void MemoryKeeper::Look() {
  const auto now = std::chrono::steady_clock::now();
  if (looks_++ == 0 || now - beyond_looked_ >= kBeyondEvery) {
    beyond_bytes_ = beyond_resident_();
    beyond_looked_ = now;
  }
  const auto resident = static_cast<std::int64_t>(resident_.Bytes());
  guard_.Look(static_cast<std::uint64_t>(std::max<std::int64_t>(resident + beyond_bytes_, 0)));
  gate_.Set(guard_.dropping(), guard_.room_bytes());
  // What was freed is still the allocator's. Near the cap not all that is freed is a holder's.
  const bool due = guard_.dropping() && looks_ % kTrimLooks == 0;
  if (guard_.TakeShrunk() || due) ::malloc_trim(0);
  const std::scoped_lock lock(mutex_);
  status_ = guard_.status();
}

}  // namespace profd::budget
