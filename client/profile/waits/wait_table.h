// WaitTable: who waits for whom, by groups of alike threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// Threads of one name but for numbers, of processes of one name; or what ends waits and is no
// thread: "[timer]".
struct WaitGroup {
  std::string
      name;  // safe: "engine-worker", of processes that differ in name "train/engine-worker"
  bool is_thread = true;
  std::size_t threads = 0;       // of the session; 0: it is only on paths
  std::uint64_t blocked_ns = 0;  // of its samples
};

// Time that waits cost, and what that rests on.
struct WaitCost {
  std::uint64_t ns = 0;
  std::uint64_t points = 0;    // samples
  std::uint64_t exact_ns = 0;  // part that was measured, not sampled

  void operator+=(const WaitCost& other);
};

// Where paths end.
struct WaitEnd {
  std::uint32_t group = 0;   // the last one on the path
  std::uint32_t thread = 0;  // the last one of threads; the same, or who waits for it
  v1::PathKind kind = v1::PATH_NONE;
  WaitCost cost;
};

struct WaitRow {
  std::uint32_t waiter = 0;  // index into groups
  v1::WaitReason wait = v1::WAIT_NONE;
  std::uint32_t waker = 0;  // by the first step of the paths
  WaitCost cost{};
  std::uint64_t waits = 0;      // sampled ones that threads of `waker` ended
  std::uint64_t spurious = 0;   // of these: the waiter blocked again at once, at the same place
  std::vector<WaitEnd> ends{};  // of `cost`, heaviest first
};

struct WaitTable {
  std::vector<WaitGroup> groups;
  // By waiter, then by time, most first. Waiters by the time of waits of which it is known who
  // ended them: those that are idle all the time come last.
  std::vector<WaitRow> rows;
  std::uint64_t blocked_ns = 0;

  // Its rows add up to the blocked time of all samples. The profile must have passed CheckProfile.
  [[nodiscard]] static WaitTable Of(const v1::Profile& profile);
};

// Between two groups, of all reasons.
struct WaitEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  bool is_end =
      false;  // paths end at `to`, and another one ends the wait; else `to` ends the waits
  std::uint64_t ns = 0;
  std::vector<std::string> words;  // reasons of the waits, or how the paths end; heaviest first
};

struct WaitGraph {
  std::vector<WaitEdge> edges;                    // heaviest first
  std::vector<std::vector<std::uint32_t>> knots;  // groups of threads that wait for each other
  std::uint64_t left_out_ns = 0;                  // of waits whose edges are too light to be drawn

  // Edges lighter than this part of all blocked time are left out, and make no knots.
  static constexpr double kLeastShare = 0.005;
  [[nodiscard]] static WaitGraph Of(const WaitTable& table);
};

}  // namespace profd::client
