#include "client/commands/command_line.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string_view>
#include <utility>

#include "client/cli/cli_app.h"
#include "client/cli/diff_values.h"
#include "client/cli/history_values.h"
#include "client/cli/suggestions.h"
#include "client/cli/target_values.h"
#include "client/cli/top_values.h"
#include "client/cli/values.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kSymbolsDurationNs = 2'000'000'000;

std::string HelpOf(const CLI::App* command) {
  return command == nullptr ? "see profctl --help"
                            : "see profctl " + command->get_name() + " --help";
}

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option :
       app.get_options([](const CLI::Option* o) { return o->nonpositional(); })) {
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> CommandWords(const CLI::App& root) {
  std::vector<std::string> words;
  for (const CLI::App* command : root.get_subcommands({})) {
    words.push_back(command->get_name());
    std::ranges::copy(command->get_aliases(), std::back_inserter(words));
  }
  return words;
}

// For the first argument that nobody knew.
Error Unknown(CliApp& app, const std::string& argument) {
  const CLI::App& root = app.root();
  const CLI::App* command = app.command();
  if (argument.starts_with('-')) {
    const std::string name = argument.substr(0, argument.find('=', 2));
    const std::string message = "unknown option " + name;
    if (const std::string_view foreign = ForeignOption(name); !foreign.empty())
      return Usage(message, std::string(foreign));
    const std::string meant = ClosestOf(name, OptionNames(command == nullptr ? root : *command));
    return Usage(message, meant.empty() ? HelpOf(command) : "did you mean " + meant + "?");
  }
  if (command == nullptr) {
    const std::string meant = ClosestOf(argument, CommandWords(root));
    return Usage("unknown command " + argument,
                 meant.empty() ? HelpOf(nullptr) : "did you mean profctl " + meant + "?");
  }
  if (command == &app.collect())
    return Usage("unexpected argument " + argument,
                 "to profile a command put -- before it; a process is named with -p PID");
  return Usage("unexpected argument " + argument, HelpOf(command));
}

OutputOptions Output(const RawOutputOptions& raw) {
  OutputOptions options;
  options.files = raw.files;
  options.format = raw.format;
  options.threads = raw.threads;
  options.signatures = raw.signatures;
  options.mangled = raw.mangled;
  options.interpreter_frames = raw.interpreter_frames;
  options.gil = raw.gil;
  return options;
}

Result<CollectOptions> Collect(const RawOptions& raw, std::vector<std::string> command) {
  CollectOptions options;
  const Result<v1::Target> target = ParseTarget(raw, !command.empty(), "-- COMMAND");
  if (!target) return target.error();
  options.target = *target;
  options.command = std::move(command);
  if (!raw.duration.empty()) {
    const Result<std::uint64_t> duration = ParseDuration(raw.duration);
    if (!duration) return duration.error();
    options.duration_ns = *duration;
  }
  if (!raw.frequency.empty()) {
    const Result<std::uint32_t> frequency = ParseFrequency(raw.frequency);
    if (!frequency) return frequency.error();
    options.frequency_hz = *frequency;
  }
  if (!raw.budget.empty()) {
    const Result<double> budget = ParseBudget(raw.budget);
    if (!budget) return budget.error();
    options.budget_cpus = *budget;
  }
  const Result<v1::Mode> mode = ParseMode(raw.mode);
  if (!mode) return mode.error();
  options.mode = *mode;
  if (raw.cycles && options.mode == v1::MODE_OFF_CPU)
    return Usage("--cycles has no meaning with -m off", "leave one out");
  options.hardware_cycles = raw.cycles;
  options.inlined = !raw.no_inlines;
  options.lines = !raw.no_lines;
  options.no_progress = raw.no_progress;
  options.output = Output(raw.collect_output);
  return options;
}

Result<QueryOptions> Query(const RawOptions& raw, std::uint64_t now_unix_ns) {
  Result<HistoryQuestion> question = ParseQuestion(raw, now_unix_ns);
  if (!question) return question.error();
  QueryOptions options{*std::move(question), Output(raw.query_output)};
  if (!raw.group_by.empty()) {
    const auto key = ParseGroupKey(raw.group_by);
    if (!key) return key.error();
    options.output.group_by = *key;
  }
  return options;
}

Result<QueryOptions> List(const RawOptions& raw, std::uint64_t now_unix_ns) {
  Result<QueryOptions> options = Query(raw, now_unix_ns);
  if (!options) return options;
  OutputOptions& output = options->output;
  if (output.threads && output.group_by)
    return Usage("both --threads and --group-by are given", "leave one out");
  if (output.threads) output.group_by = GroupKey::kThread;
  output.report = raw.json ? Report::kListJson : Report::kList;
  return options;
}

std::uint64_t NowUnixNs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

Result<DumpCommandOptions> Dump(const RawOptions& raw) {
  const std::string name = "name -p PID or -t TID";
  if (raw.pids.empty() && raw.tids.empty())
    return Usage("nothing to dump: no process is named", name);
  if (!raw.pids.empty() && !raw.tids.empty())
    return Usage("both processes and threads are named", name);
  DumpCommandOptions options;
  std::vector<std::uint32_t> ids;
  for (const std::string& text : raw.pids) PROFD_TRY(ParseIds("-p", text, ids));
  for (const std::string& text : raw.tids) PROFD_TRY(ParseIds("-t", text, ids));
  v1::Target& target = options.target;
  (raw.pids.empty() ? target.mutable_tids() : target.mutable_pids())
      ->mutable_id()
      ->Add(ids.begin(), ids.end());
  options.json = raw.json;
  options.inlined = !raw.no_inlines;
  options.lines = !raw.no_lines;
  options.signatures = raw.dump_output.signatures;
  options.mangled = raw.dump_output.mangled;
  options.interpreter_frames = raw.dump_output.interpreter_frames;
  return options;
}

Result<DoctorOptions> Doctor(const RawOptions& raw) {
  DoctorOptions options;
  options.json = raw.json;
  std::vector<std::uint32_t> ids;
  for (const std::string& text : raw.pids) PROFD_TRY(ParseIds("-p", text, ids));
  if (ids.size() > 1) return Usage("more than one process is named", "one at a time");
  if (!ids.empty()) options.pid = ids.front();
  return options;
}

// A collection or the reading of a file, with another report.
Result<void> Symbols(const RawOptions& raw, CommandLine& line) {
  OutputOptions output;
  output.report = raw.json ? Report::kSymbolsJson : Report::kSymbols;
  output.files = raw.symbols_files;
  const bool has_target =
      !raw.pids.empty() || !raw.tids.empty() || raw.all || !raw.comm.empty() || !raw.cgroup.empty();
  if (!raw.input.empty()) {
    if (has_target) return Usage("both a file and a target are named", "leave one out");
    line.verb = Verb::kExport;
    line.export_command = {raw.input, std::move(output)};
    return {};
  }
  const Result<v1::Target> target = ParseTarget(raw, false, "FILE.json");
  if (!target) return target.error();
  Result<CollectOptions> options = Collect(raw, {});
  if (!options) return options.error();
  line.verb = Verb::kCollect;
  line.collect = *std::move(options);
  line.collect.output = std::move(output);
  if (!line.collect.duration_ns) line.collect.duration_ns = kSymbolsDurationNs;
  return {};
}

Error FromCli(const CLI::ParseError& error, const CLI::App* command) {
  // "--pid: 1 required TEXT missing" and "--mode: At Most 1 required but received 2".
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find(':'));
  if (error.get_name() != "ArgumentMismatch") return Usage(text, HelpOf(command));
  const bool twice = text.find("received") != std::string::npos;
  return Usage(option + (twice ? " is given more than once" : " needs a value"), HelpOf(command));
}

Result<CommandLine> Convert(const RawOptions& raw, const CliApp& app,
                            std::vector<std::string> behind, bool has_dashes) {
  CommandLine line;
  line.global.quiet = raw.quiet;
  line.global.verbose = raw.verbose;
  line.global.host.address = raw.host;
  line.global.host.tls = {.ca = raw.tls_ca, .certificate = raw.tls_certificate, .key = raw.tls_key};
  const Result<ColorChoice> color = ParseColorChoice(raw.color);
  if (!color) return color.error();
  line.global.color = *color;
  const CLI::App* command = app.command();
  const std::string name = command == nullptr ? "" : command->get_name();
  if (has_dashes && name != "collect")
    return Usage("only collect takes a command behind --", HelpOf(command));
  if (has_dashes && behind.empty())
    return Usage("no command behind --", "as in profctl collect -- ls -l");
  if (raw.version || name == "version") {
    line.verb = Verb::kVersion;
  } else if (name == "collect") {
    line.verb = Verb::kCollect;
    Result<CollectOptions> options = Collect(raw, std::move(behind));
    if (!options) return options.error();
    line.collect = *std::move(options);
  } else if (name == "export") {
    line.verb = Verb::kExport;
    if (raw.input.empty())
      return Usage("no file is named", "as in profctl export out.json -o out.svg");
    line.export_command = {raw.input, Output(raw.export_output)};
  } else if (name == "query" || name == "list") {
    line.verb = Verb::kQuery;
    Result<QueryOptions> options =
        name == "query" ? Query(raw, NowUnixNs()) : List(raw, NowUnixNs());
    if (!options) return options.error();
    line.query = *std::move(options);
  } else if (name == "top") {
    line.verb = Verb::kTop;
    Result<TopOptions> options = ParseTop(raw);
    if (!options) return options.error();
    line.top = *std::move(options);
  } else if (name == "dump") {
    line.verb = Verb::kDump;
    Result<DumpCommandOptions> options = Dump(raw);
    if (!options) return options.error();
    line.dump = *std::move(options);
  } else if (name == "symbols") {
    PROFD_TRY(Symbols(raw, line));
  } else if (name == "diff") {
    line.verb = Verb::kDiff;
    Result<DiffCommandOptions> options = ParseDiff(raw, NowUnixNs());
    if (!options) return options.error();
    line.diff = *std::move(options);
  } else if (name == "doctor") {
    line.verb = Verb::kDoctor;
    Result<DoctorOptions> options = Doctor(raw);
    if (!options) return options.error();
    line.doctor = *options;
  } else if (name == "status") {
    line.verb = Verb::kStatus;
    line.status.json = raw.json;
  } else if (name == "formats") {
    line.verb = Verb::kFormats;
  } else {
    return Usage("no command is named", "see profctl --help; most want profctl collect -p PID");
  }
  return line;
}

}  // namespace

Result<CommandLine> ParseCommandLine(std::vector<std::string> arguments) {
  // Everything behind the first "--" is the command's, whatever it looks like.
  const auto dashes = std::ranges::find(arguments, "--");
  const bool has_dashes = dashes != arguments.end();
  std::vector<std::string> behind;
  if (has_dashes) behind.assign(std::next(dashes), arguments.end());
  arguments.erase(dashes, arguments.end());
  // "profctl help collect" is what one tries first.
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  RawOptions raw;
  CliApp app(raw);
  try {
    std::ranges::reverse(arguments);  // as CLI11 wants them
    app.root().parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    CommandLine line;
    line.help = app.root().help();
    return line;
  } catch (const CLI::ParseError& error) {
    return FromCli(error, app.command());
  }
  if (const std::vector<std::string> unknown = app.Remaining(); !unknown.empty())
    return Unknown(app, unknown.front());
  return Convert(raw, app, std::move(behind), has_dashes);
}

std::vector<CommandNames> AllCommandNames() {
  RawOptions raw;
  CliApp app(raw);
  std::vector<CommandNames> commands{{"", {}, OptionNames(app.root())}};
  for (const CLI::App* command : app.root().get_subcommands({}))
    commands.push_back({command->get_name(), command->get_aliases(), OptionNames(*command)});
  return commands;
}

}  // namespace profd::client
