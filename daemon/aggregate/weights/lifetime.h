// Lifetime: the part of a thread's life inside one session.
#pragma once

#include <cstdint>
#include <optional>

#include "bpf/shared/clock.h"
#include "daemon/aggregate/weights/weights.h"

namespace profd::aggregate {

// Migrations of a thread to another core, to another last-level cache, and to another NUMA node,
// each counted by itself.
struct Migrations {
  std::uint64_t core = 0;
  std::uint64_t cache = 0;
  std::uint64_t node = 0;

  friend bool operator==(const Migrations&, const Migrations&) = default;
};

// The window comes from the instants of the session,
// the fork, and the time stamp of the thread's end, but not from `clock`. So the two can be
// compared, and the closure error shows a fault.
struct Lifetime {
  Window window;
  profd_clock clock{};
  bool began = false;
  bool exited = false;  // the thread died; it did not just leave the session
  bool clock_missing = true;
  std::optional<Migrations> migrations;  // nothing: they were not counted by distance
  // Set if the thread is blocked at the end of the window, and the clock knows the begin of that
  // wait, which may be before the window.
  std::optional<std::uint64_t> blocked_since_ns;
  // The same of a thread that waits for a CPU there without having slept.
  std::optional<std::uint64_t> runnable_since_ns;
};

}  // namespace profd::aggregate
