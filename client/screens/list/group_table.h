// GroupTable: who spent the time of a profile, a row a process, thread, unit, user, ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "client/profile/grouping.h"
#include "client/profile/spinning.h"
#include "client/profile/stolen_time.h"
#include "client/text/palette.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// Sums over the threads of one group; exact where the clocks are.
struct GroupRow {
  std::string name;       // not made safe
  std::uint32_t pid = 0;  // by process and by thread; else, and of a group of short-lived ones, 0
  std::uint32_t tid = 0;  // by thread
  std::string user;       // by process and by thread
  std::string unit;
  std::string container;
  std::map<std::string, std::string> labels;  // by process and by thread
  std::size_t processes = 0;
  std::size_t threads = 0;
  std::uint64_t elapsed_ns = 0;
  std::uint64_t on_cpu_ns = 0;  // working and spinning
  SpinningTime spinning;
  std::uint64_t runnable_ns = 0;
  std::uint64_t blocked_ns = 0;
  StolenTime stolen;
};

struct GroupTableOptions {
  GroupKey key = GroupKey::kProcess;
  std::size_t width = 80;
  Palette palette;
  bool complete = false;  // all rows; else the first kGroupRows
};
inline constexpr std::size_t kGroupRows = 50;

// By time on a CPU, most first, then by name. The profile must have passed CheckProfile.
[[nodiscard]] std::vector<GroupRow> GroupRows(const v1::Profile& profile, GroupKey key);
// Times are in threads on average: they add up to the threads that lived.
[[nodiscard]] std::string RenderGroups(const v1::Profile& profile,
                                       const GroupTableOptions& options);
}  // namespace profd::client
