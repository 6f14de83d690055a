// What is collected or looked at: options that name a target.
#pragma once

#include <string>
#include <vector>

#include "client/cli/command_model.h"
#include "daemon/base/result.h"
#include "profd/v1/profiler.pb.h"

namespace profd::client {

struct RawTarget {
  std::vector<std::string> pids;
  std::vector<std::string> tids;
  bool all = false;
  std::string comm;
  std::string cgroup;
  std::string service;
  std::vector<std::string> labels;
  bool children = false;
  bool no_children = false;
  bool kernel_threads = false;

  // How many kinds of target are given.
  [[nodiscard]] int kinds() const;
};

void AddIds(Command& command, RawTarget& raw);       // -p, -t
void AddTarget(Command& command, RawTarget& raw);    // AddIds, -a, --comm, --cgroup
void AddService(Command& command, RawTarget& raw);   // where AddFleet has none
void AddLabels(Command& command, RawTarget& raw);    // where AddHistoryFilters has none
void AddChildren(Command& command, RawTarget& raw);  // -s
void AddKernelThreads(Command& command, RawTarget& raw);

// `has_command`: it stands in the place of a target. `other`: what else may, for the hint.
[[nodiscard]] Result<v1::Target> ParseTarget(const RawTarget& raw, bool has_command,
                                             const char* other);
// Processes or threads by number, for a command that takes nothing else.
[[nodiscard]] Result<v1::Target> ParseIdTarget(const RawTarget& raw);

}  // namespace profd::client
