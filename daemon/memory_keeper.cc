#include "daemon/memory_keeper.h"

#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <utility>

#include "daemon/base/own_usage.h"

namespace profd {
namespace {

constexpr int kLooksASecond = std::chrono::seconds(1) / MemoryKeeper::kInterval;
constexpr int kTrimLooks = 4;

}  // namespace

MemoryKeeper::MemoryKeeper(std::uint64_t cap_bytes, std::vector<health::MemoryHolder> holders,
                           MemoryGate& gate, ProcFs proc,
                           std::function<std::int64_t()> beyond_resident)
    : gate_(gate),
      proc_(std::move(proc)),
      beyond_resident_(std::move(beyond_resident)),
      guard_(cap_bytes, std::move(holders)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

MemoryKeeper::~MemoryKeeper() { Stop(); }

void MemoryKeeper::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

health::MemoryStanding MemoryKeeper::standing() const {
  const std::scoped_lock lock(mutex_);
  return standing_;
}

void MemoryKeeper::Run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "profd-memory");
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (!stopped.wait_for(lock, stop, kInterval, [&] { return stop.stop_requested(); })) Look();
}

void MemoryKeeper::Look() {
  if (looks_++ % kLooksASecond == 0) beyond_bytes_ = beyond_resident_();
  const auto resident = static_cast<std::int64_t>(OwnResidentBytes(proc_));
  guard_.Look(static_cast<std::uint64_t>(std::max<std::int64_t>(resident + beyond_bytes_, 0)));
  gate_.Set(guard_.dropping(), guard_.room_bytes());
  // What was freed is still the allocator's. Near the cap not all that is freed is a holder's.
  const bool due = guard_.dropping() && looks_ % kTrimLooks == 0;
  if (guard_.TakeShrunk() || due) ::malloc_trim(0);
  const std::scoped_lock lock(mutex_);
  standing_ = guard_.standing();
}

}  // namespace profd
