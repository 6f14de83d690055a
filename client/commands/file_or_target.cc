#include "client/commands/file_or_target.h"

#include <algorithm>
#include <utility>

#include "client/cli/time_values.h"
#include "client/cli/values.h"
#include "client/commands/common/fleet_session.h"

namespace profd::client {
namespace {

bool IsNumber(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
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

void AnySourceVerb::AddSource() {
  command().behind = &source_.command;
  command().Add({.names = "FILE", .into = &source_.input, .offer = Offer::kFiles});
  AddTarget(command(), source_.target);
  AddDuration(command(), source_.duration, kTenSecondsOrCommand);
  AddFrequency(command(), source_.sampling);
  AddChildren(command(), source_.target);
  AddTimes(command(), source_.times);
  AddHistoryFilters(command(), source_.filters, "Without a time it names what is collected.");
  AddFleet(command(), source_.fleet);
}

Result<std::optional<HistoryQuestion>> AnySourceVerb::TakeHistory(
    const std::string& or_else) const {
  const bool times =
      !source_.times.since.empty() || !source_.times.from.empty() || !source_.times.to.empty();
  RawFilters filters = source_.filters;
  filters.pids = source_.target.pids;
  if (!source_.target.comm.empty()) filters.comms = {source_.target.comm};
  if (!source_.target.cgroup.empty()) filters.cgroups = {source_.target.cgroup};
  if (!source_.fleet.service.empty())
    filters.labels.push_back(std::string(kServiceLabel) + "=" + source_.fleet.service);
  const std::uint64_t now_unix_ns = NowUnixNs();
  auto range = ParseRange(filters, source_.input, now_unix_ns);
  if (!range) return range.error();
  if (!*range && !times) {
    RawFilters others = source_.filters;
    others.labels.clear();  // these may be a target
    const std::string filter = FirstFilter(others);
    if (!filter.empty())
      return Usage(filter + " is for the history, and no time of it is named",
                   "name one with --since, or write a range, 2h..1h" + or_else);
    return std::optional<HistoryQuestion>();
  }
  if (*range && times) return Usage("a range is named twice", "leave out --since, --from and --to");
  if (!*range && !source_.input.empty())
    return Usage("both a file and a time of the history are named", "leave one out");
  if (!source_.command.empty() || !source_.duration.empty() || !source_.target.tids.empty() ||
      source_.target.children)
    return Usage(
        "-d, -t, -s and a command are for a collection, and a time of the history is named",
        "leave one out");
  if (*range) return range;
  auto question = ParseQuestion(source_.times, filters, now_unix_ns);
  if (!question) return question.error();
  return std::optional(*std::move(question));
}

Result<void> AnySourceVerb::TakeFleet(OutputOptions output) {
  if (!source_.command.empty() || !source_.duration.empty() || source_.target.kinds() > 0 ||
      source_.target.children)
    return Usage("both a fleet and a collection on this host are named",
                 "--service and --host name a part of a fleet");
  const std::uint64_t now_unix_ns = NowUnixNs();
  auto fleet = ParseFleet(source_.fleet, source_.filters, source_.times, now_unix_ns);
  if (!fleet) return fleet.error();
  PROFD_TRY(CheckService(fleet->question));
  if (!source_.input.empty()) {
    const auto range = ParseRange({}, source_.input, now_unix_ns);
    if (!range) return range.error();
    if (!*range)
      return Usage("both a fleet and a file are named", "leave one out; a range is written 2h..1h");
    SetRange((**range).request, now_unix_ns, fleet->question);
  }
  options_ = QueryOptions{.question = {}, .fleet = *std::move(fleet), .output = std::move(output)};
  return {};
}

Result<void> AnySourceVerb::TakeSource(OutputOptions output, const std::string& or_else) {
  output.files = source_.files;
  output.format = source_.format;
  if (source_.fleet.requested()) return TakeFleet(std::move(output));
  PROFD_TRY(CheckNoFleetButService(source_.fleet));
  auto history = TakeHistory(or_else);
  if (!history) return history.error();
  if (*history) {
    options_ = QueryOptions{.question = **std::move(history), .output = std::move(output)};
    return {};
  }
  auto source = static_cast<const RawFileOrTarget&>(source_);
  source.target.service = source_.fleet.service;
  source.target.labels = source_.filters.labels;
  if (IsNumber(source.input)) {
    if (source.target.kinds() > 0)
      return Usage("both process " + source.input + " and another target are named",
                   "leave one out; a file of that name is ./" + source.input);
    source.target.pids = {std::exchange(source.input, "")};
  }
  auto options = TakeFileOrTarget(source, std::move(output), std::nullopt,
                                  "-- COMMAND, a PID, a FILE.json or a range of times, 2h..1h");
  if (!options) return options.error();
  std::visit([this](auto& taken) { options_ = std::move(taken); }, *options);
  return {};
}

int AnySourceVerb::Run(const Context& context) {
  if (const auto* query = std::get_if<QueryOptions>(&options_)) return RunQuery(*query, context);
  if (const auto* collect = std::get_if<CollectOptions>(&options_))
    return RunCollect(*collect, context);
  return RunExport(std::get<ExportCommandOptions>(options_), context);
}

}  // namespace profd::client
