// Paths: on whom threads wait, as a profile has it.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/base/keys.h"
#include "daemon/process/wait_reason.h"

namespace profd::aggregate {

// What a step of a path says: what the thread that ended the wait did at the sampling point, or why
// the path ends there.
enum class PathKind : std::uint8_t {
  kNone,
  kWaits,  // it was blocked, too; the path goes on with who ended that wait
  // Ends:
  kRuns,
  kNoCpu,  // it was ready, and waited for a CPU
  kTimer,
  kDisk,
  kNet,
  kInterrupt,    // of another device
  kStillWaits,   // the wait had not ended
  kNotFollowed,  // the thread was outside the session, and not followed yet
  kNotSeen,      // no wake-up was captured, or none that gave the waiter what it waited for
  kLost,         // a sample of the thread may have been lost
  kOtherUser,    // a thread that the client may not see
  kTooLong,      // more steps than a path may have, or a circle
};

// How the thread of a step ended the wait before it.
enum class PathHow : std::uint8_t {
  kWoke,
  kExit,
  kSignal,
  kGil,    // it holds the GIL for which the thread before it waits
  kOwner,  // the wait has not ended; it holds the mutex for which the thread before it waits
};

// A thread on paths; of a process outside the session, too.
struct PathThread {
  ThreadKey key;
  ProcessKey process;
  std::string comm;
  std::string process_comm;
  std::uint32_t shown_tid = 0;  // in the caller's pid namespace
  std::uint32_t shown_pid = 0;
};

// One node in the prefix tree of paths. From the root outwards a path says on whom a thread waited
// at a sampling point, through other threads that waited, to the end.
struct PathNode {
  std::uint32_t parent = 0;  // index into paths; node 0 is the root
  PathKind kind = PathKind::kNone;
  PathHow how = PathHow::kWoke;
  process::WaitReason wait = process::WaitReason::kNone;  // kWaits
  bool estimated = false;    // kRuns: the stack is not of the wait itself, but of one like it
  std::uint32_t thread = 0;  // 1 + index into path_threads; 0: none
  std::uint32_t node = 0;    // leaf of its stack; 0: none
};

// How often one thread ended waits of another one, in the sampled waits.
struct WakeUpCount {
  std::uint32_t thread = 0;  // the waiter: index into threads
  std::uint32_t waker = 0;   // index into path_threads
  process::WaitReason wait = process::WaitReason::kNone;
  std::uint64_t waits = 0;
  std::uint64_t spurious = 0;  // of these: the thread blocked again at once, at the same place
};

}  // namespace profd::aggregate
