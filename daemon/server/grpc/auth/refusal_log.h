// RefusalLog: every refusal, with who and what, as far as that does not fill the disk.
#pragma once

#include <spdlog/logger.h>

#include <cstdint>
#include <mutex>
#include <string>

#include "daemon/base/clock.h"
#include "daemon/server/grpc/auth/token_bucket.h"

namespace profd::server {

// Methods from any thread.
class RefusalLog {
 public:
  // Both must outlive this.
  RefusalLog(const Clock& clock, spdlog::logger& logger);

  // Says "refused WHO: WHAT: WHY", on one line; of a flood, some, and later how many more.
  void Refused(const std::string& who, const std::string& what, const std::string& why);
  [[nodiscard]] std::uint64_t refusals() const;

 private:
  const Clock& clock_;
  spdlog::logger& logger_;
  mutable std::mutex mutex_;
  TokenBucket bucket_;
  std::uint64_t refusals_ = 0;
  std::uint64_t unsaid_ = 0;
};

}  // namespace profd::server
