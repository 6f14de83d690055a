// ClientLimits: how much of profd one client may take.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "daemon/base/clock.h"
#include "daemon/base/result.h"
#include "daemon/server/grpc/auth/caller.h"
#include "daemon/server/grpc/auth/token_bucket.h"
#include "daemon/server/grpc/convert/convert.h"

namespace profd::server {

struct ClientLimits {
  std::uint32_t max_sessions = 0;     // at once
  std::uint64_t max_duration_ns = 0;  // 0: until it is stopped, if need be
  std::uint32_t max_frequency_hz = 0;
  double calls_per_second = 0;  // and twice that at once
  std::uint32_t max_connections = 0;
  int max_request_bytes = 0;
};

// Who sees all is trusted not to wear the host down on purpose, and kept from doing it by accident.
inline constexpr ClientLimits kTrustedLimits{64, 0, 100'000, 200, 256, 1 << 20};
inline constexpr ClientLimits kPublicLimits{4, 3600ull * 1'000'000'000, 999, 20, 16, 1 << 16};

[[nodiscard]] constexpr const ClientLimits& LimitsOf(const Caller& caller) {
  return caller.sees_all ? kTrustedLimits : kPublicLimits;
}

// kExhausted: longer or finer than this client may ask for. Without a duration it is as long as it
// may be.
[[nodiscard]] Result<void> Limit(const ClientLimits& limits, CollectPlan& plan);

// How often each client has called recently. Methods from any thread; bounded memory.
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
