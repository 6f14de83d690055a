// MemoryBudget: the cap on memory, what each part may hold of it, and whether there is room now.
#pragma once

#include <atomic>
#include <cstdint>

namespace profd::budget {

// Limits of single parts, in bytes. No part takes most of the cap by itself, however hostile its
// input is. Together they are more than the cap; the memory thread keeps the sum below it.
struct MemoryLimits {
  std::uint64_t names = 0;          // names of addresses that the symbolizer keeps
  std::uint64_t symbol_tables = 0;  // of all ELF files
  std::uint64_t elf_file = 0;       // symbols of one ELF file, and its strings
  std::uint64_t debug_info = 0;     // debug information of all files
  std::uint64_t unwind_tables = 0;  // kernel memory
  std::uint64_t queue = 0;          // each of the two queues of the pipeline
  std::uint64_t session = 0;        // samples of one session, and its stacks
  double query = 1;  // share of the store's own limits that one query may use, 0 to 1
};
[[nodiscard]] MemoryLimits LimitsWithin(std::uint64_t cap_bytes);

// Job: lets each part of profd see whether memory is short. Thread: the memory thread updates it;
// all other methods may be called from any thread, at any rate. Owner: the composition root.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t cap_bytes)
      : cap_bytes_(cap_bytes), limits_(LimitsWithin(cap_bytes)) {}

  [[nodiscard]] std::uint64_t cap_bytes() const { return cap_bytes_; }
  [[nodiscard]] const MemoryLimits& limits() const { return limits_; }

  // True while memory is so short that profd drops samples and refuses sessions.
  [[nodiscard]] bool full() const { return full_.load(std::memory_order_relaxed); }
  // Reserves room for one large piece until the next update. False: the piece does not fit.
  [[nodiscard]] bool TakeRoom(std::uint64_t bytes);

  // `room_bytes`: what is left below the cap.
  void Update(bool full, std::uint64_t room_bytes) {
    full_.store(full, std::memory_order_relaxed);
    room_bytes_.store(room_bytes, std::memory_order_relaxed);
  }

 private:
  const std::uint64_t cap_bytes_;
  const MemoryLimits limits_;
  std::atomic<bool> full_ = false;
  std::atomic<std::uint64_t> room_bytes_ = UINT64_MAX;  // until the first update
};

}  // namespace profd::budget
