#include "client/commands/file_or_target.h"

#include <algorithm>
#include <utility>

#include "client/cli/time_values.h"
#include "client/cli/values.h"

namespace profd::client {
namespace {

bool IsNumber(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Nothing: it is a file or a target.
Result<std::optional<HistoryQuestion>> TakeHistory(const RawAnySource& raw,
                                                   const std::string& or_else) {
  const bool times = !raw.times.since.empty() || !raw.times.from.empty() || !raw.times.to.empty();
  RawFilters filters = raw.filters;
  filters.pids = raw.target.pids;
  if (!raw.target.comm.empty()) filters.comms = {raw.target.comm};
  if (!raw.target.cgroup.empty()) filters.cgroups = {raw.target.cgroup};
  const std::uint64_t now_unix_ns = NowUnixNs();
  auto range = ParseRange(filters, raw.input, now_unix_ns);
  if (!range) return range.error();
  if (!*range && !times) {
    const std::string filter = FirstFilter(raw.filters);
    if (!filter.empty())
      return Usage(filter + " is for the history, and no time of it is named",
                   "name one with --since, or write a range, 2h..1h" + or_else);
    return std::optional<HistoryQuestion>();
  }
  if (*range && times) return Usage("a range is named twice", "leave out --since, --from and --to");
  if (!*range && !raw.input.empty())
    return Usage("both a file and a time of the history are named", "leave one out");
  if (!raw.command.empty() || !raw.duration.empty() || !raw.target.tids.empty() ||
      raw.target.children)
    return Usage(
        "-d, -t, -s and a command are for a collection, and a time of the history is named",
        "leave one out");
  if (*range) return range;
  auto question = ParseQuestion(raw.times, filters, now_unix_ns);
  if (!question) return question.error();
  return std::optional(*std::move(question));
}

}  // namespace

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

void AddAnySource(Command& command, RawAnySource& raw) {
  command.behind = &raw.command;
  command.Add({.names = "FILE", .into = &raw.input, .offer = Offer::kFiles});
  AddTarget(command, raw.target);
  AddDuration(command, raw.duration, kTenSecondsOrCommand);
  AddFrequency(command, raw.sampling);
  AddChildren(command, raw.target);
  AddTimes(command, raw.times);
  AddHistoryFilters(command, raw.filters);
}

Result<AnySource> TakeAnySource(const RawAnySource& raw, OutputOptions output,
                                const std::string& or_else) {
  auto history = TakeHistory(raw, or_else);
  if (!history) return history.error();
  if (*history) return AnySource(QueryOptions{**std::move(history), std::move(output)});
  auto source = static_cast<const RawFileOrTarget&>(raw);
  if (IsNumber(source.input)) {
    if (source.target.kinds() > 0)
      return Usage("both process " + source.input + " and another target are named",
                   "leave one out; a file of that name is ./" + source.input);
    source.target.pids = {std::exchange(source.input, "")};
  }
  auto options = TakeFileOrTarget(source, std::move(output), std::nullopt,
                                  "-- COMMAND, a PID, a FILE.json or a range of times, 2h..1h");
  if (!options) return options.error();
  AnySource taken;
  std::visit([&](auto& one) { taken = std::move(one); }, *options);
  return taken;
}

int RunAnySource(const AnySource& options, const Context& context) {
  if (const auto* query = std::get_if<QueryOptions>(&options)) return RunQuery(*query, context);
  if (const auto* collect = std::get_if<CollectOptions>(&options))
    return RunCollect(*collect, context);
  return RunExport(std::get<ExportCommandOptions>(options), context);
}

}  // namespace profd::client
