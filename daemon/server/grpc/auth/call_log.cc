#include "daemon/server/grpc/auth/call_log.h"

#include <utility>

#include "daemon/base/duration.h"
#include "daemon/server/grpc/auth/log_line.h"

namespace profd::server {
namespace {

constexpr double kLinesPerSecond = 5;
constexpr double kLinesAtOnce = 100;

}  // namespace

CallLog::CallLog(const Clock& clock, spdlog::logger& logger)
    : clock_(clock), logger_(logger), bucket_(kLinesPerSecond, kLinesAtOnce, clock.MonotonicNs()) {}

CallLog::~CallLog() { SayMissing(); }

void CallLog::SayMissing() {
  if (const std::uint64_t missing = std::exchange(not_said_, 0); missing != 0)
    logger_.warn("{} more calls of remote clients", missing);
}

void CallLog::Ended(const Caller& caller, const std::string& peer, const std::string& what,
                    std::uint64_t duration_ns, const std::string& outcome) {
  const std::scoped_lock lock(mutex_);
  if (!bucket_.Take(clock_.MonotonicNs())) {
    ++not_logged_;
    ++not_said_;
    return;
  }
  SayMissing();
  const std::uint64_t ms = duration_ns / 1'000'000 * 1'000'000;
  logger_.info("call of {}, {}, from {}: {}: {}, {}", OneLine(Describe(caller)),
               NameOf(caller.role), OneLine(peer), OneLine(what),
               ms == 0 ? "0ms" : DurationText(ms), OneLine(outcome.substr(0, outcome.find('\n'))));
}

std::uint64_t CallLog::not_logged() const {
  const std::scoped_lock lock(mutex_);
  return not_logged_;
}

}  // namespace profd::server
