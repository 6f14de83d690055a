#include "daemon/budget/memory_guard.h"

#include <algorithm>
#include <utility>

namespace profd::budget {
namespace {

// Less than this is not worth a walk through the allocator.
constexpr std::uint64_t kWorthTrimming = 2u << 20;

}  // namespace

void MemoryGuard::Look(std::uint64_t used_bytes) {
  used_bytes_ = used_bytes;
  peak_bytes_ = std::max(peak_bytes_, used_bytes);
  dropping_ = used_bytes > Part(dropping_ ? kTake : kDrop);
  quiet_looks_ = std::max(quiet_looks_ - 1, 0);
  if (used_bytes <= Part(kEvict) || (quiet_looks_ > 0 && !dropping_)) return;
  AskFor(used_bytes - Part(kTarget));
  quiet_looks_ = kPatience;
}

void MemoryGuard::AskFor(std::uint64_t bytes) {
  for (const MemoryHolder& holder : holders_) {
    if (bytes == 0) return;
    if (!holder.gives_up) continue;
    // A holder that has not answered yet gets no second request.
    std::uint64_t part = holder.share->requested();
    if (part == 0) {
      part = std::min(bytes, holder.share->bytes());
      if (part == 0) continue;
      holder.share->Ask(part);
      reclaim_requested_bytes_ += part;
    }
    bytes -= std::min(bytes, part);
  }
}

double MemoryGuard::IntervalScale() const {
  const auto room = static_cast<double>(room_bytes());
  const auto least = static_cast<double>(cap_bytes_ - Part(kEvict));
  return room > least && least > 0 ? room / least : 1;
}

bool MemoryGuard::TakeShrunk() {
  const std::uint64_t held = Held();
  most_held_ = std::max(most_held_, held);
  if (most_held_ - held < kWorthTrimming) return false;
  most_held_ = held;
  return true;
}

std::uint64_t MemoryGuard::Held() const {
  std::uint64_t sum = 0;
  for (const MemoryHolder& holder : holders_) sum += holder.share->bytes();
  return sum;
}

MemoryStatus MemoryGuard::status() const {
  MemoryStatus status{.cap_bytes = cap_bytes_,
                      .used_bytes = used_bytes_,
                      .peak_bytes = peak_bytes_,
                      .reclaim_requested_bytes = reclaim_requested_bytes_,
                      .dropping = dropping_,
                      .holders = {}};
  for (const MemoryHolder& holder : holders_)
    status.holders.push_back({holder.name, holder.share->bytes()});
  return status;
}

}  // namespace profd::budget
