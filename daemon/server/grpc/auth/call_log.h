// CallLog: logs what remote clients did, at a bounded rate.
#pragma once

#include <spdlog/logger.h>

#include <cstdint>
#include <mutex>
#include <string>

#include "daemon/base/clock.h"
#include "daemon/server/grpc/auth/caller.h"
#include "daemon/server/grpc/auth/token_bucket.h"

namespace profd::server {

// Methods may be called from any thread.
class CallLog {
 public:
  // Both must outlive this.
  CallLog(const Clock& clock, spdlog::logger& logger);
  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;
  // Says how many calls are not in the log, if the last line does not.
  ~CallLog();

  // One line: "call of certificate 'ops', operator, from ipv4:192.0.2.1:4242: Collect pid 12:
  // 10200ms, ok". Above the rate calls are counted, and the next line says how many are missing.
  // `outcome`: "ok", or why not.
  void Ended(const Caller& caller, const std::string& peer, const std::string& what,
             std::uint64_t duration_ns, const std::string& outcome);
  // Of all calls, those that are not in the log.
  [[nodiscard]] std::uint64_t not_logged() const;

 private:
  void SayMissing();  // with mutex_ held

  const Clock& clock_;
  spdlog::logger& logger_;
  mutable std::mutex mutex_;
  TokenBucket bucket_;
  std::uint64_t not_logged_ = 0;
  std::uint64_t not_said_ = 0;  // of them
};

}  // namespace profd::server
