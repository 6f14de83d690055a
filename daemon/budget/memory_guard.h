// MemoryGuard: who gives up memory, and when work is dropped, for profd to stay below its cap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "daemon/budget/memory_share.h"

namespace profd::budget {

// A part of profd that says what it holds. `share` outlives whoever has this.
struct MemoryHolder {
  std::string name;
  MemoryShare* share = nullptr;
  bool gives_up = true;  // false: it only tells; what it holds goes away when its work is done
};

struct MemoryStatus {
  struct Holder {
    std::string name;
    std::uint64_t bytes = 0;
  };
  std::uint64_t cap_bytes = 0;   // 0: there is none
  std::uint64_t used_bytes = 0;  // at the last look
  std::uint64_t peak_bytes = 0;
  std::uint64_t reclaim_requested_bytes = 0;  // that holders were asked to give up, since the start
  bool dropping = false;
  std::vector<Holder> holders;
};

// A rule and nothing else. Above kEvict of the cap it asks the holders, in their order, for as much
// as is needed to come down to kTarget, and again after kPatience looks; above kDrop there is no
// interval, and no new work is taken on until it is below kTake. The distance to the cap is for
// what grows between two looks. Used by one thread.
class MemoryGuard {
 public:
  static constexpr double kTarget = 0.60;
  static constexpr double kEvict = 0.65;
  static constexpr double kTake = 0.70;
  static constexpr double kDrop = 0.75;
  static constexpr int kPatience = 20;

  MemoryGuard(std::uint64_t cap_bytes, std::vector<MemoryHolder> holders)
      : cap_bytes_(cap_bytes), holders_(std::move(holders)) {}

  // `used_bytes`: what the kernel says of profd.
  void Look(std::uint64_t used_bytes);
  [[nodiscard]] bool dropping() const { return dropping_; }
  // Below the cap, at the last look.
  [[nodiscard]] std::uint64_t room_bytes() const {
    return cap_bytes_ - std::min(cap_bytes_, used_bytes_);
  }
  // How many times later than at kEvict the next look may be, for what grows meanwhile to find as
  // much room; at least 1.
  [[nodiscard]] double IntervalScale() const;
  // All holders together have shrunk since this was asked last: what they gave back may still be
  // the allocator's.
  [[nodiscard]] bool TakeShrunk();
  [[nodiscard]] MemoryStatus status() const;

 private:
  [[nodiscard]] std::uint64_t Part(double share) const {
    return static_cast<std::uint64_t>(share * static_cast<double>(cap_bytes_));
  }
  void AskFor(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t Held() const;

  const std::uint64_t cap_bytes_;
  const std::vector<MemoryHolder> holders_;
  std::uint64_t used_bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
  std::uint64_t reclaim_requested_bytes_ = 0;
  std::uint64_t most_held_ = 0;  // since TakeShrunk said yes
  bool dropping_ = false;
  int quiet_looks_ = 0;  // still to come, before anybody is asked again
};

}  // namespace profd::budget
