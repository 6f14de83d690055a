#include "client/commands/file_or_target.h"

#include <utility>

#include "client/cli/values.h"

namespace profd::client {

Result<FileOrTarget> TakeFileOrTarget(const RawFileOrTarget& raw, OutputOptions output,
                                      std::optional<std::uint64_t> duration_ns,
                                      const char* or_else) {
  const bool has_command = !raw.command.empty();
  if (!raw.input.empty()) {
    if (raw.target.kinds() > 0 || has_command)
      return Usage("both a file and a target are named", "leave one out");
    return FileOrTarget(ExportCommandOptions{raw.input, std::move(output)});
  }
  CollectOptions options;
  const Result<v1::Target> target = ParseTarget(raw.target, has_command, or_else);
  if (!target) return target.error();
  options.target = *target;
  options.command = raw.command;
  options.duration_ns = duration_ns;
  if (!raw.duration.empty()) {
    const auto duration = ParseDurationOf("-d", raw.duration, kSessionLimits);
    if (!duration) return duration.error();
    options.duration_ns = *duration;
  }
  const Result<Sampling> sampling = ParseSampling(raw.sampling);
  if (!sampling) return sampling.error();
  options.sampling = *sampling;
  options.no_progress = raw.no_progress;
  options.output = std::move(output);
  return FileOrTarget(std::move(options));
}

int RunFileOrTarget(const FileOrTarget& options, const Context& context) {
  if (const auto* collect = std::get_if<CollectOptions>(&options))
    return RunCollect(*collect, context);
  return RunExport(std::get<ExportCommandOptions>(options), context);
}

}  // namespace profd::client
