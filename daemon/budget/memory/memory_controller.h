// MemoryController: which parts must free memory, and when work is dropped.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "daemon/budget/memory/memory_account.h"

namespace profd::budget {

struct MemoryStatus {
  struct Holder {
    std::string name;
    std::uint64_t bytes = 0;
  };
  std::uint64_t cap_bytes = 0;   // 0: there is none
  std::uint64_t used_bytes = 0;  // at the last update
  std::uint64_t peak_bytes = 0;
  std::uint64_t reclaim_requested_bytes = 0;  // sum of all reclaim requests since the start
  bool dropping = false;
  std::vector<Holder> holders;
};

// Job: the control law of the memory budget. It reads no clock and no file. Above kReclaimAbove of
// the cap it requests memory back from the accounts, in their order, to come down to kTarget, and
// again after kRetryTicks updates. Above kDropAbove it requests at each update. If that does not
// help for kDropTicks updates, or at once above kDropAtOnce, profd takes no new work until it uses
// less than kResumeBelow. The distance to the cap is for growth between two updates.
// Thread: one. Owner: MemoryThread.
class MemoryController {
 public:
  static constexpr double kTarget = 0.60;
  static constexpr double kReclaimAbove = 0.65;
  static constexpr double kResumeBelow = 0.70;
  static constexpr double kDropAbove = 0.75;
  static constexpr double kDropAtOnce = 0.85;
  static constexpr int kDropTicks = 4;
  static constexpr int kRetryTicks = 20;
  // Memory is calm when none of the last kCalmTicks updates found it grown by kCalmGrowth.
  static constexpr double kCalmGrowth = 1.0 / 256;
  static constexpr int kCalmTicks = 4;
  static constexpr double kCalmScale = 4;

  // The accounts must outlive this. The first one frees memory first.
  MemoryController(std::uint64_t cap_bytes, std::vector<MemoryAccount*> accounts)
      : cap_bytes_(cap_bytes), accounts_(std::move(accounts)) {}

  // `used_bytes`: the memory of profd as the kernel accounts it.
  void Update(std::uint64_t used_bytes);
  [[nodiscard]] bool dropping() const { return dropping_; }
  // Memory is requested at each update.
  [[nodiscard]] bool urgent() const { return urgent_ticks_ > 0; }
  // What was left below the cap at the last update.
  [[nodiscard]] std::uint64_t room_bytes() const {
    return cap_bytes_ - std::min(cap_bytes_, used_bytes_);
  }
  // How many times longer than at kReclaimAbove the time to the next update may be, so that growth
  // finds the same room; at least 1. While memory is calm and below kReclaimAbove it is kCalmScale
  // times that: what grows then for the first time finds at least a third of the cap free.
  [[nodiscard]] double IntervalScale() const;
  // True if the sum of all accounts has shrunk since the last call that returned true. The
  // allocator may still have what they freed.
  [[nodiscard]] bool TakeShrunk();
  [[nodiscard]] MemoryStatus status() const;

 private:
  [[nodiscard]] std::uint64_t Part(double share) const {
    return static_cast<std::uint64_t>(share * static_cast<double>(cap_bytes_));
  }
  void RequestReclaim(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t Held() const;

  const std::uint64_t cap_bytes_;
  const std::vector<MemoryAccount*> accounts_;
  std::uint64_t used_bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
  std::uint64_t reclaim_requested_bytes_ = 0;
  std::uint64_t most_held_ = 0;  // since TakeShrunk returned true
  bool dropping_ = false;
  int urgent_ticks_ = 0;    // updates that found it so
  int ticks_to_retry_ = 0;  // updates until the next requests
  int calm_ticks_ = 0;
};

}  // namespace profd::budget
