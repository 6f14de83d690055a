// FileOrTarget: commands that read a json file of collect, collect a target themselves, or take a
// range of the history.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "client/cli/history_options.h"
#include "client/commands/collect.h"
#include "client/commands/export.h"
#include "client/commands/query.h"

namespace profd::client {

// As the user wrote it.
struct RawFileOrTarget {
  std::string input;
  RawTarget target;
  std::string duration;
  RawSampling sampling;
  std::vector<std::string> files;
  bool no_progress = false;
  std::vector<std::string> command;  // behind --, where the verb takes one
};

using FileOrTarget = std::variant<CollectOptions, ExportCommandOptions>;

// `duration_ns`: of a collection for which the user names none. `or_else`: what may stand in the
// place of a target, for the error.
[[nodiscard]] Result<FileOrTarget> TakeFileOrTarget(const RawFileOrTarget& raw,
                                                    OutputOptions output,
                                                    std::optional<std::uint64_t> duration_ns,
                                                    const char* or_else);

[[nodiscard]] int RunFileOrTarget(const FileOrTarget& options, const Context& context);

struct RawFileOrHistory : RawFileOrTarget {
  RawTimes times;
  RawFilters filters;
};

using FileOrHistory = std::variant<CollectOptions, ExportCommandOptions, QueryOptions>;

// Nothing: no time of the history is named, so it is a file or a target. `or_else`: for the error
// of a filter without a time, what takes a part of those; "": nothing does.
[[nodiscard]] Result<std::optional<HistoryQuestion>> TakeHistory(const RawFileOrHistory& raw,
                                                                 const char* or_else);

[[nodiscard]] int RunFileOrHistory(const FileOrHistory& options, const Context& context);

}  // namespace profd::client
