// RefusalLog: logs refused calls and connections, at a bounded rate.
#pragma once

#include <spdlog/logger.h>

#include <cstdint>
#include <mutex>
#include <string>

#include "daemon/base/clock.h"
#include "daemon/server/grpc/auth/token_bucket.h"

namespace profd::server {

// Methods may be called from any thread.
class RefusalLog {
 public:
  // Both must outlive this.
  RefusalLog(const Clock& clock, spdlog::logger& logger);

  // Logs "refused WHO: WHAT: WHY" on one line. Above the rate it only counts, and the next line
  // says how many were not logged.
  void Refused(const std::string& who, const std::string& what, const std::string& why);
  [[nodiscard]] std::uint64_t refusals() const;

 private:
  const Clock& clock_;
  spdlog::logger& logger_;
  mutable std::mutex mutex_;
  TokenBucket bucket_;
  std::uint64_t refusals_ = 0;
  std::uint64_t not_logged_ = 0;
};

}  // namespace profd::server
