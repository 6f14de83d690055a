// What of the history is requested, from the options and words that say so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/command_model.h"
#include "daemon/base/result.h"
#include "profd/v1/profiler.pb.h"

namespace profd::client {

struct HistoryQuestion {
  v1::QueryRequest request;
  std::string who;    // the filter as text: "comm redis-server"
  std::string range;  // the time range as text
};

struct RawTimes {
  std::string since;
  std::string from;
  std::string to;
};

struct RawFilters {
  std::vector<std::string> pids;
  std::vector<std::string> comms;
  std::vector<std::string> executables;
  std::vector<std::string> cgroups;
  std::vector<std::string> containers;
  std::vector<std::string> units;
  std::vector<std::string> users;
  std::vector<std::string> threads;
  std::vector<std::string> labels;
  std::string state;
  std::string wait;
};

void AddTimes(Command& command, RawTimes& raw);
void AddFilters(Command& command, RawFilters& raw);
// Of these, all but -p, --comm and --cgroup: for commands that have those as a target. `of_label`:
// what else --label means.
void AddHistoryFilters(Command& command, RawFilters& raw, const std::string& of_label = "");

[[nodiscard]] Result<HistoryQuestion> ParseQuestion(const RawTimes& times,
                                                    const RawFilters& filters,
                                                    std::uint64_t now_unix_ns);

// "2h..1h", "1h..", "..14:05", of whom `filters` says. Nothing when the word is no two times, at
// least one of them written; an error when no time lies between them.
[[nodiscard]] Result<std::optional<HistoryQuestion>> ParseRange(const RawFilters& filters,
                                                                const std::string& word,
                                                                std::uint64_t now_unix_ns);

// The first option that selects processes or threads; empty: none is given.
[[nodiscard]] std::string FirstFilter(const RawFilters& raw);

}  // namespace profd::client
