// Filter: which processes, threads and samples of the history a query wants.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/base/named_count.h"
#include "daemon/base/result.h"
#include "daemon/process/sample.h"

namespace profd::store {

// An empty list lets everything pass. Otherwise at least one entry of every list must match. Texts
// are exact, or globs in which * matches any text and ? any byte.
struct Filter {
  std::vector<std::uint32_t> pids;       // as shown, or in profd's own pid namespace
  std::vector<std::string> comms;        // of the process
  std::vector<std::string> executables;  // path, or its last part
  std::vector<std::string> cgroups;
  std::vector<std::string> containers;  // id, or its first characters (without a glob)
  std::vector<std::string> units;       // with or without ".service"
  std::vector<std::string> users;       // name or uid
  std::vector<std::string> threads;     // comm, or tid
  // A label of the process (aggregate::ProcessLabels), and what its value may be. All must match.
  struct Label {
    std::string name;
    std::vector<std::string> values;
  };
  std::vector<Label> labels;
  std::string host;  // the value of host.name
  // Only processes that belong to this user alone: the limit for clients without full access.
  std::optional<std::uint32_t> exclusive_owner;
  std::optional<process::State> state;
  std::optional<process::WaitReason> wait;
};

// fnmatch(3) without brackets, which are plain text because names of kernel threads have them. Its
// time is at most the product of the lengths. Neither text needs to be UTF-8.
[[nodiscard]] bool MatchesGlob(std::string_view pattern, std::string_view text);

// Of texts "NAME=VALUE", of which those of one name are alternatives. kInvalidArgument: one is not
// written so.
[[nodiscard]] Result<std::vector<Filter::Label>> ParseLabels(std::span<const std::string> texts);
// `labels`: aggregate::ProcessLabels. One that is missing has the value "".
[[nodiscard]] bool MatchesLabels(std::span<const Filter::Label> wanted,
                                 const std::map<std::string, std::string>& labels);

[[nodiscard]] bool Matches(const Filter& filter, const aggregate::ProfileProcess& process);
[[nodiscard]] bool Matches(const Filter& filter, const aggregate::ProfileThread& thread);
[[nodiscard]] bool Matches(const Filter& filter, const aggregate::ProfileSample& sample);

// Takes out the counters of a window whose texts name processes or users, unless the filter shows
// all.
void HideOthers(const Filter& filter, std::vector<NamedCount>& counters);

// The parts of the profile that match, with processes, threads and samples renumbered. Threads keep
// their whole clocks, even if the filter wants samples of one state only. Paths stay whole, but for
// threads of others (path_access.h). Nodes and frames stay
// empty, and samples keep the numbers of their nodes.
[[nodiscard]] aggregate::Profile Select(const aggregate::Profile& profile, const Filter& filter);

}  // namespace profd::store
