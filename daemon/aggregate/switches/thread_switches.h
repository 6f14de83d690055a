// ThreadSwitch: one time that a thread was off the CPU, as a profile has it.
#pragma once

#include <cstdint>
#include <vector>

namespace profd::aggregate {

enum class LeaveReason : std::uint8_t {
  kSlept,            // interruptible
  kUninterruptible,  // such a sleep
  kIo,               // it waits for a disk
  kPreempted,
  kYielded,
  kBegan  // it was made
};

struct ThreadSwitch {
  std::uint64_t out_ns = 0;     // it left the CPU, or began
  std::uint64_t ready_ns = 0;   // from here on it waited for a CPU
  std::uint64_t in_ns = 0;      // it was back; 0: not before the session ended
  std::uint64_t woken_ns = 0;   // the first wake-up; 0: not seen
  std::uint32_t thread = 0;     // index into threads
  std::uint32_t waker_pid = 0;  // both 0: an interrupt, one that may not be seen, or none was seen
  std::uint32_t waker_tid = 0;
  std::uint16_t cpu = 0;  // on which it was back
  LeaveReason reason = LeaveReason::kSlept;
  bool by_interrupt = false;  // it was woken by one
};

// Out of their times and the begin and end of each thread follows its state at every instant.
struct ThreadSwitches {
  bool recorded = false;
  std::vector<ThreadSwitch> switches;  // by thread, in order of time
  // Threads of which some are missing, by their clocks: what they did at an instant is not known.
  std::vector<std::uint32_t> incomplete;  // indices into threads, ascending
};

}  // namespace profd::aggregate
