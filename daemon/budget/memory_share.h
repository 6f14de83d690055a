// MemoryShare: what one part of profd holds in memory, and what it has been asked to give up.
#pragma once

#include <atomic>
#include <cstdint>

namespace profd::budget {

// Between the thread that owns the part, which says what it holds and gives up its oldest when it
// next can, and the keeper of the memory cap, which reads and asks. The bytes may be an estimate.
class MemoryShare {
 public:
  // --- owner
  void Set(std::uint64_t bytes) { bytes_.store(bytes, std::memory_order_relaxed); }
  // How much is to be given up now; 0: nothing. Asked once.
  [[nodiscard]] std::uint64_t TakeReclaimRequest() {
    return requested_.load(std::memory_order_relaxed) == 0
               ? 0
               : requested_.exchange(0, std::memory_order_relaxed);
  }

  // --- keeper
  [[nodiscard]] std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  void Ask(std::uint64_t bytes) { requested_.store(bytes, std::memory_order_relaxed); }
  // Requested and not taken yet.
  [[nodiscard]] std::uint64_t requested() const {
    return requested_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<std::uint64_t> requested_ = 0;
};

// Whether memory is so short that no new work may be taken on, and whether there is room for one
// large thing. Set by the keeper; any thread may ask, as often as it likes.
class MemoryGate {
 public:
  void Set(bool full, std::uint64_t room_bytes) {
    full_.store(full, std::memory_order_relaxed);
    room_bytes_.store(room_bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] bool full() const { return full_.load(std::memory_order_relaxed); }
  // False: it would not fit below the cap. Else it counts as taken until the keeper's next look.
  [[nodiscard]] bool TakeRoom(std::uint64_t bytes) {
    std::uint64_t room = room_bytes_.load(std::memory_order_relaxed);
    while (bytes <= room)
      if (room_bytes_.compare_exchange_weak(room, room - bytes, std::memory_order_relaxed))
        return true;
    return false;
  }

 private:
  std::atomic<bool> full_ = false;
  std::atomic<std::uint64_t> room_bytes_ = UINT64_MAX;  // until the first look
};

}  // namespace profd::budget
