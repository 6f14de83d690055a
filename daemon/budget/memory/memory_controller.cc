#include "daemon/budget/memory/memory_controller.h"

#include <algorithm>
#include <utility>

namespace profd::budget {
namespace {

// To trim the heap for less than this costs more than it gains.
constexpr std::uint64_t kWorthTrimming = 2u << 20;

}  // namespace

void MemoryController::Update(std::uint64_t used_bytes) {
  calm_ticks_ = used_bytes < used_bytes_ + Part(kCalmGrowth) ? calm_ticks_ + 1 : 0;
  used_bytes_ = used_bytes;
  peak_bytes_ = std::max(peak_bytes_, used_bytes);
  urgent_ticks_ = used_bytes > Part(dropping_ ? kResumeBelow : kDropAbove) ? urgent_ticks_ + 1 : 0;
  dropping_ =
      urgent() && (dropping_ || urgent_ticks_ > kDropTicks || used_bytes > Part(kDropAtOnce));
  ticks_to_retry_ = std::max(ticks_to_retry_ - 1, 0);
  if (used_bytes <= Part(kReclaimAbove) || (ticks_to_retry_ > 0 && !urgent())) return;
  RequestReclaim(used_bytes - Part(kTarget));
  ticks_to_retry_ = kRetryTicks;
}

void MemoryController::RequestReclaim(std::uint64_t bytes) {
  for (MemoryAccount* account : accounts_) {
    if (bytes == 0) return;
    if (!account->reclaimable()) continue;
    // A part that has not taken its request yet gets no second one.
    std::uint64_t part = account->requested();
    if (part == 0) {
      part = std::min(bytes, account->bytes());
      if (part == 0) continue;
      account->RequestReclaim(part);
      reclaim_requested_bytes_ += part;
    }
    bytes -= std::min(bytes, part);
  }
}

double MemoryController::IntervalScale() const {
  const auto room = static_cast<double>(room_bytes());
  const auto least = static_cast<double>(cap_bytes_ - Part(kReclaimAbove));
  if (room <= least || least <= 0) return 1;
  return room / least * (calm_ticks_ >= kCalmTicks ? kCalmScale : 1);
}

bool MemoryController::TakeShrunk() {
  const std::uint64_t held = Held();
  most_held_ = std::max(most_held_, held);
  if (most_held_ - held < kWorthTrimming) return false;
  most_held_ = held;
  return true;
}

std::uint64_t MemoryController::Held() const {
  std::uint64_t sum = 0;
  for (const MemoryAccount* account : accounts_) sum += account->bytes();
  return sum;
}

MemoryStatus MemoryController::status() const {
  MemoryStatus status{.cap_bytes = cap_bytes_,
                      .used_bytes = used_bytes_,
                      .peak_bytes = peak_bytes_,
                      .reclaim_requested_bytes = reclaim_requested_bytes_,
                      .dropping = dropping_,
                      .holders = {}};
  for (const MemoryAccount* account : accounts_)
    status.holders.push_back({std::string(account->name()), account->bytes()});
  return status;
}

}  // namespace profd::budget
