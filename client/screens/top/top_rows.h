// TopRows: a time range as the rows of the live table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "client/profile/on_whom.h"
#include "client/profile/share_error.h"
#include "client/profile/stolen_time.h"
#include "client/screens/top/top_state.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// Time of one state.
struct StateTime {
  std::uint64_t ns = 0;
  std::uint64_t points = 0;    // samples that it rests on
  std::uint64_t exact_ns = 0;  // part that was measured, not sampled

  void operator+=(const StateTime& other);
  void operator-=(const StateTime& part);
};

// Time by v1::State, and of the blocked one by reason.
struct StateTimes {
  std::array<StateTime, v1::State_ARRAYSIZE> states;
  StateTime spinning;  // of what is on a CPU
  std::array<std::uint64_t, v1::WaitReason_ARRAYSIZE> waits{};

  void operator+=(const StateTimes& other);
  [[nodiscard]] std::uint64_t ns() const;
  // What most of the blocked time was for; WAIT_NONE where nothing was blocked.
  [[nodiscard]] v1::WaitReason main_wait() const;
};

struct TopRow {
  std::string name;       // safe text, like all; "cc1 x 412" for a group of short-lived ones
  std::string detail;     // of a process its command line, of a thread that of its process
  std::string user;       // of processes and threads
  std::uint32_t pid = 0;  // of processes and threads; 0: a group
  std::uint32_t tid = 0;  // of threads; 0: a group
  std::size_t threads = 0;
  std::uint64_t elapsed_ns = 0;  // that the threads lived
  StolenTime stolen;             // of processes and threads
  StateTimes total;              // by the exact clocks; of a function by the samples that it is in
  StateTimes self;               // of functions: by the samples that it is the last in
  WakerTimes wakers;             // of processes and threads; empty: not known
  ErrorSum total_error;          // of functions
  ErrorSum self_error;

  [[nodiscard]] bool sampled() const { return threads == 0; }
  // Who ends most of the blocked time; "" where most of that is not known.
  [[nodiscard]] std::string main_waker() const;
};

// By name. The profile must have passed CheckProfile.
[[nodiscard]] std::vector<TopRow> TopProcesses(const v1::Profile& profile);
[[nodiscard]] std::vector<TopRow> TopThreads(const v1::Profile& profile);
// Functions of one name are one; a recursion counts once. Without `kernel`, what the kernel does
// for a function of a program is part of that.
[[nodiscard]] std::vector<TopRow> TopFunctions(const v1::Profile& profile, bool kernel);

// The rows that a view asks for: those the filter lets pass, sorted, most first.
[[nodiscard]] std::vector<TopRow> TopRowsOf(const v1::Profile& profile, const TopState& state);

}  // namespace profd::client
