// FileOrTarget: commands that read a json file of collect, or collect a target themselves.
// AnySourceVerb: of those, the ones that read the history, too.
#pragma once

#include <optional>
#include <string>
#include <utility>
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

using AnySource = std::variant<CollectOptions, ExportCommandOptions, QueryOptions>;

// What all verbs do that make a report of a collection, of a file or of the history. Where a file
// stands, a pid or a range of the history may stand, too.
class AnySourceVerb : public Verb {
 public:
  [[nodiscard]] bool ShowsProgress() const override {
    return !source_.no_progress && source_.command.empty();
  }
  [[nodiscard]] int Run(const Context& context) override;
  [[nodiscard]] const AnySource& options() const { return options_; }

 protected:
  // As the user wrote it.
  struct Source : RawFileOrTarget {
    RawTimes times;
    RawFilters filters;
    RawFleet fleet;
    std::string format;
  };

  explicit AnySourceVerb(Command command) : Verb(std::move(command)) {}

  [[nodiscard]] Source& source() { return source_; }
  [[nodiscard]] const Source& source() const { return source_; }
  void SetOptions(AnySource options) { options_ = std::move(options); }

  // All options of the source; not those of the output.
  void AddSource();
  // `output` gets files and format here. `or_else`: for the error of a filter of the history
  // without a time, what takes a part of the other sources, as "; --filter does"; "": nothing does.
  [[nodiscard]] Result<void> TakeSource(OutputOptions output, const std::string& or_else);

 private:
  [[nodiscard]] Result<void> TakeFleet(OutputOptions output);
  // Nothing: it is a file or a target.
  [[nodiscard]] Result<std::optional<HistoryQuestion>> TakeHistory(
      const std::string& or_else) const;

  Source source_;
  AnySource options_;
};

}  // namespace profd::client
