#include "daemon/server/grpc/auth/client_limits.h"

namespace profd::server {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::size_t kMaxClients = 1024;

}  // namespace

Result<void> Limit(const ClientLimits& limits, CollectPlan& plan) {
  if (limits.max_duration_ns != 0 && plan.duration_ns > limits.max_duration_ns)
    return Error{ErrorCode::kExhausted,
                 std::to_string(plan.duration_ns / kNsPerSecond) + " s are more than the " +
                     std::to_string(limits.max_duration_ns / kNsPerSecond) +
                     " s that you may collect at a time",
                 "collect for a shorter time, or as a member of group profd"};
  if (plan.duration_ns == 0) plan.duration_ns = limits.max_duration_ns;
  const std::uint64_t shortest_ns = kNsPerSecond / limits.max_frequency_hz;
  if (plan.spec.on_cpu_period_ns < shortest_ns || plan.spec.off_cpu_period_ns < shortest_ns)
    return Error{ErrorCode::kExhausted,
                 "you may sample at " + std::to_string(limits.max_frequency_hz) + " Hz at the most",
                 "ask for a lower rate (-F), or collect as a member of group profd"};
  return {};
}

RunningCalls::Call RunningCalls::Begin(const Caller& caller) {
  std::string client = ClientName(caller);
  {
    const std::scoped_lock lock(mutex_);
    ++running_[client];
  }
  return {*this, std::move(client)};
}

Result<void> RunningCalls::Check(const Caller& caller) const {
  const std::uint32_t most = LimitsFor(caller).max_calls;
  const std::scoped_lock lock(mutex_);
  const auto found = running_.find(ClientName(caller));
  if (found == running_.end() || found->second <= most) return {};
  return Error{ErrorCode::kExhausted, std::to_string(most) + " calls of yours are running",
               "wait for one to end"};
}

void RunningCalls::End(const std::string& client) {
  const std::scoped_lock lock(mutex_);
  const auto found = running_.find(client);
  if (--found->second == 0) running_.erase(found);
}

Result<void> CallRates::Count(const Caller& caller) {
  const ClientLimits& limits = LimitsFor(caller);
  const std::uint64_t now_ns = clock_.MonotonicNs();
  const std::scoped_lock lock(mutex_);
  // A full bucket is one of a client that has not called recently; a new one would be equal. So it
  // can be forgotten.
  if (buckets_.size() >= kMaxClients)
    std::erase_if(buckets_, [&](const auto& entry) { return entry.second.IsFull(now_ns); });
  const std::string client = ClientName(caller);
  auto found = buckets_.find(client);
  if (found == buckets_.end() && buckets_.size() < kMaxClients)
    found = buckets_
                .emplace(client,
                         TokenBucket(limits.calls_per_second, 2 * limits.calls_per_second, now_ns))
                .first;
  if (found != buckets_.end() && found->second.Take(now_ns)) return {};
  return Error{
      ErrorCode::kExhausted,
      "more than " + std::to_string(static_cast<int>(limits.calls_per_second)) + " calls a second",
      "wait a second"};
}

}  // namespace profd::server
