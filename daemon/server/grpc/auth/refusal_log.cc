#include "daemon/server/grpc/auth/refusal_log.h"

#include "daemon/server/grpc/auth/log_line.h"

namespace profd::server {
namespace {

constexpr double kLinesPerSecond = 1;
constexpr double kLinesAtOnce = 20;

}  // namespace

RefusalLog::RefusalLog(const Clock& clock, spdlog::logger& logger)
    : clock_(clock), logger_(logger), bucket_(kLinesPerSecond, kLinesAtOnce, clock.MonotonicNs()) {}

void RefusalLog::Refused(const std::string& who, const std::string& what, const std::string& why) {
  const std::scoped_lock lock(mutex_);
  ++refusals_;
  if (!bucket_.Take(clock_.MonotonicNs())) {
    ++not_logged_;
    return;
  }
  if (not_logged_ != 0) logger_.warn("refused {} more calls", not_logged_);
  not_logged_ = 0;
  logger_.warn("refused {}: {}: {}", OneLine(who), OneLine(what),
               OneLine(why.substr(0, why.find('\n'))));
}

std::uint64_t RefusalLog::refusals() const {
  const std::scoped_lock lock(mutex_);
  return refusals_;
}

}  // namespace profd::server
