// ClientLimits: how many sessions, calls and connections one client may have.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "daemon/base/clock.h"
#include "daemon/base/result.h"
#include "daemon/server/grpc/auth/caller.h"
#include "daemon/server/grpc/auth/token_bucket.h"
#include "daemon/server/grpc/convert/convert.h"

namespace profd::server {

struct ClientLimits {
  std::uint32_t max_sessions = 0;     // at once
  std::uint64_t max_duration_ns = 0;  // 0: no limit
  std::uint32_t max_frequency_hz = 0;
  double calls_per_second = 0;  // on average; twice as many may come at once
  std::uint32_t max_calls = 0;  // that run at once; each has a thread, also while its client reads
  std::uint32_t max_connections = 0;  // beyond them the longest idle one is closed
  int max_request_bytes = 0;
};

// Callers who see everything are trusted. Their limits only protect the host from accidents.
inline constexpr ClientLimits kTrustedLimits{64, 0, 100'000, 200, 80, 64, 1 << 20};
inline constexpr ClientLimits kPublicLimits{4, 3600ull * 1'000'000'000, 999, 20, 12, 16, 1 << 16};

[[nodiscard]] constexpr const ClientLimits& LimitsFor(const Caller& caller) {
  return caller.sees_all ? kTrustedLimits : kPublicLimits;
}

// kExhausted: the plan is longer or finer than the limits allow. A plan without a duration gets the
// longest one.
[[nodiscard]] Result<void> Limit(const ClientLimits& limits, CollectPlan& plan);

// Counts the running calls of each client. A client that does not read its answers keeps its calls
// running, and leaves threads and memory to the others all the same. Methods may be called from any
// thread.
class RunningCalls {
 public:
  // One running call.
  class Call {
   public:
    Call(RunningCalls& all, std::string client) : all_(&all), client_(std::move(client)) {}
    Call(Call&& other) noexcept
        : all_(std::exchange(other.all_, nullptr)), client_(std::move(other.client_)) {}
    Call& operator=(Call&&) = delete;
    ~Call() {
      if (all_ != nullptr) all_->End(client_);
    }

   private:
    RunningCalls* all_;
    std::string client_;
  };

  // Never refuses: what is counted may still be refused.
  [[nodiscard]] Call Begin(const Caller& caller);
  // kExhausted: more calls of the caller than max_calls run, with the one that asks.
  [[nodiscard]] Result<void> Check(const Caller& caller) const;

 private:
  void End(const std::string& client);

  mutable std::mutex mutex_;
  std::map<std::string, std::uint32_t> running_;  // by client; no zeros
};

// Counts the recent calls of each client. Methods may be called from any thread. Memory is bounded.
class CallRates {
 public:
  explicit CallRates(const Clock& clock) : clock_(clock) {}
  // kExhausted: too often.
  [[nodiscard]] Result<void> Count(const Caller& caller);

 private:
  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, TokenBucket> buckets_;  // by client
};

}  // namespace profd::server
