// FleetRows: sums of a fleet's samples, and the stacks that they refer to.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/fleet/fleet_question.h"
#include "client/fleet/row_reader.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// As the tables have it.
enum class FleetState : std::uint8_t { kRunning = 1, kSpinning, kRunnable, kBlocked, kStolen };

// The time of one stack in one state.
struct FleetRow {
  std::vector<std::string>
      keys{};              // by what is distinguished, in the order of FleetQuestion::apart
  std::uint8_t group = 0;  // of hosts; 0 where these are not distinguished
  std::string thread;
  FleetState state = FleetState::kRunning;
  v1::WaitReason wait = v1::WAIT_NONE;
  std::uint64_t hash = 0;  // kRestOfStacks: what a limit cut off
  std::uint64_t path = 0;  // of kBlocked: its hash; 0: it is not known
  std::uint64_t ns = 0;
  std::uint64_t points = 0;
};
inline constexpr std::uint64_t kRestOfStacks = 0;

// Leaf first; all four have the same length.
struct FleetStack {
  std::vector<std::string> functions;
  std::vector<std::string> modules;
  std::vector<std::string> files;
  std::vector<v1::FrameKind> kinds;
};
using FleetStacks = std::unordered_map<std::uint64_t, FleetStack>;

// On whom threads wait, from the waiter outwards.
struct FleetStep {
  v1::PathKind kind = v1::PATH_NONE;
  v1::PathHow how = v1::HOW_WOKE;
  v1::WaitReason wait = v1::WAIT_NONE;
  std::string thread{};  // group; "": none
  std::string service{};
  bool own = false;         // the thread is of the waiter's process
  std::uint64_t stack = 0;  // hash; 0: not known
};
struct FleetPath {
  std::vector<FleetStep> steps{};
  bool estimated = false;  // the last stack
};
using FleetPaths = std::unordered_map<std::uint64_t, FleetPath>;

// How much of a fleet one part of a profile stands for: a row for each combination of what is
// distinguished.
struct FleetPart {
  std::vector<std::string> keys;
  std::uint8_t group = 0;
  std::uint64_t hosts = 0;
  std::uint64_t windows = 0;  // of all these hosts
};

// What is beyond this is no use to a reader, and no memory is safe from an answer without end.
inline constexpr std::size_t kMostFleetRows = 1'000'000;
inline constexpr std::size_t kMostFleetParts = 20'000;

// Of answers whose columns are in the order of these members. kCorrupt; kExhausted beyond the
// limits.
[[nodiscard]] Result<std::vector<FleetRow>> ReadRows(std::string_view answer, std::size_t keys);
[[nodiscard]] Result<FleetStacks> ReadStacks(std::string_view answer);
[[nodiscard]] Result<FleetPaths> ReadPaths(std::string_view answer);
[[nodiscard]] Result<std::vector<FleetPart>> ReadParts(std::string_view answer, std::size_t keys);
// A state of the tables.
[[nodiscard]] FleetState StateOf(RowReader& reader);
// WAIT_OTHER of what is not known here.
[[nodiscard]] v1::WaitReason WaitNamed(std::string_view name);

}  // namespace profd::client
