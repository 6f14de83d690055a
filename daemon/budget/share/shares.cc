#include "daemon/budget/share/shares.h"

#include <algorithm>

namespace profd::budget {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kMaxAmount = UINT64_MAX / kNsPerSecond;

}  // namespace

std::vector<BeyondShare> BeyondSince(const std::vector<BeyondShare>& before,
                                     std::vector<BeyondShare> now) {
  for (BeyondShare& one : now) {
    const auto was = std::ranges::find_if(before, [&](const BeyondShare& earlier) {
      return earlier.key.kind == one.key.kind && earlier.key.id == one.key.id;
    });
    if (was != before.end() && was->count <= one.count) one.count -= was->count;
  }
  std::erase_if(now, [](const BeyondShare& one) { return one.count == 0; });
  return now;
}

Shares::Share& Shares::Of(std::uint32_t id) {
  Share* known = shares_.Find(id);
  return known != nullptr ? *known : shares_.Put(id, {});
}

std::uint64_t Shares::TimeOf(std::uint64_t amount) const {
  return std::min(amount, kMaxAmount) * kNsPerSecond / rate_.per_second;
}

bool Shares::AdmitNow(std::uint32_t id, std::uint64_t now_ns) {
  Share& share = Of(id);
  if (share.used_ns < now_ns + TimeOf(rate_.at_once)) return true;
  ++share.beyond;
  share.beyond_ns = now_ns;
  return false;
}

void Shares::ChargeNow(std::uint32_t id, std::uint64_t amount, std::uint64_t now_ns) {
  Share& share = Of(id);
  share.used_ns = std::max(share.used_ns, now_ns) + TimeOf(amount);
}

bool Shares::Admit(std::uint32_t id) {
  const std::scoped_lock lock(mutex_);
  return AdmitNow(id, clock_.MonotonicNs());
}

void Shares::Charge(std::uint32_t id, std::uint64_t amount) {
  const std::scoped_lock lock(mutex_);
  ChargeNow(id, amount, clock_.MonotonicNs());
}

bool Shares::Take(std::uint32_t id) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t now_ns = clock_.MonotonicNs();
  if (!AdmitNow(id, now_ns)) return false;
  ChargeNow(id, 1, now_ns);
  return true;
}

void Shares::Count(std::uint32_t id) {
  const std::scoped_lock lock(mutex_);
  Share& share = Of(id);
  ++share.beyond;
  share.beyond_ns = clock_.MonotonicNs();
}

std::vector<BeyondShare> Shares::Beyond() const {
  const std::scoped_lock lock(mutex_);
  std::vector<BeyondShare> all;
  shares_.ForEach([&](std::uint32_t id, const Share& share) {
    if (share.beyond != 0)
      all.push_back({{static_cast<__u32>(kind_), id}, share.beyond, share.beyond_ns});
  });
  return all;
}

}  // namespace profd::budget
