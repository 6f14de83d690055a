// Filter: which processes, threads and samples of the history are asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/process/sample.h"

namespace profd::store {

// Empty lists let everything pass; of a list one must fit, and of the lists each. Texts are exact
// or globs, in which * stands for any text and ? for any byte.
struct Filter {
  std::vector<std::uint32_t> pids;       // as shown, or in profd's own pid namespace
  std::vector<std::string> comms;        // of the process
  std::vector<std::string> executables;  // path, or its last part
  std::vector<std::string> cgroups;
  std::vector<std::string> containers;  // id, or its first characters (without a glob)
  std::vector<std::string> units;       // with or without ".service"
  std::vector<std::string> users;       // name or uid
  std::vector<std::string> threads;     // comm, or tid
  // Only processes that are wholly this user's: what somebody may see who does not see all.
  std::optional<std::uint32_t> exclusive_owner;
  std::optional<process::State> state;
  std::optional<process::WaitReason> wait;
};

// Linear in the length of `text` for each star of the pattern; neither needs to be UTF-8.
[[nodiscard]] bool MatchesGlob(std::string_view pattern, std::string_view text);

[[nodiscard]] bool Matches(const Filter& filter, const aggregate::ProfileProcess& process);
[[nodiscard]] bool Matches(const Filter& filter, const aggregate::ProfileThread& thread);
[[nodiscard]] bool Matches(const Filter& filter, const aggregate::ProfileSample& sample);

// What passes, with processes, threads and samples renumbered. Threads keep their whole clocks,
// also where only samples of one state are asked for. Nodes and frames are left empty: samples
// keep the numbers of their nodes.
[[nodiscard]] aggregate::Profile Select(const aggregate::Profile& profile, const Filter& filter);

}  // namespace profd::store
