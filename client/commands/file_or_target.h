// FileOrTarget: commands that read a json file of collect, or collect a target themselves.
// AnySource: of those, the ones that read the history, too.
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

// As the user wrote it. Where a file stands, a pid or a range of the history may stand, too.
struct RawAnySource : RawFileOrTarget {
  RawTimes times;
  RawFilters filters;
};

using AnySource = std::variant<CollectOptions, ExportCommandOptions, QueryOptions>;

// All options of the source; not those of the output.
void AddAnySource(Command& command, RawAnySource& raw);
// `or_else`: for the error of a filter of the history without a time, what takes a part of the
// other sources, as "; --filter does"; "": nothing does.
[[nodiscard]] Result<AnySource> TakeAnySource(const RawAnySource& raw, OutputOptions output,
                                              const std::string& or_else);

[[nodiscard]] int RunAnySource(const AnySource& options, const Context& context);

}  // namespace profd::client
