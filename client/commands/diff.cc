#include "client/commands/diff.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/time_values.h"
#include "client/cli/values.h"
#include "client/commands/common/fleet_session.h"
#include "client/commands/common/history.h"
#include "client/commands/common/profile_file.h"
#include "client/commands/common/wait_reports.h"
#include "client/fleet/fleet_profile.h"
#include "client/format/diff_svg.h"
#include "client/format/diff_text.h"
#include "client/format/exporter.h"
#include "client/link/daemon_choice.h"
#include "client/profile/diff.h"
#include "client/profile/fleet_marks.h"
#include "client/profile/profile_parts.h"
#include "client/screens/diff/diff_view.h"
#include "client/system/exit_code.h"
#include "client/system/invoking_user.h"
#include "client/system/output_file.h"
#include "client/system/stop_signals.h"
#include "client/system/terminal.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

constexpr std::string_view kStdout = "-";
constexpr std::size_t kFileWidth = 120;  // columns of a table that goes elsewhere
constexpr const char* kAbout =
    "A and B are json files of collect or query, - for standard input, or ranges of the history "
    "that profd keeps: 2h..1h, 14:05..14:20, 1h.. up to now, ..1h from its beginning. Times of A "
    "are scaled to the elapsed time of B. Processes and threads are compared by their names, not "
    "their ids. Without -o it prints a table on a terminal and folded stacks with two columns into "
    "a pipe. Two files need no profd. Of a fleet two versions of a service, or two ranges, are "
    "compared, by the time of all their hosts together; what hosts differ by says what is chance.";
constexpr const char* kFooter =
    "Examples:\n"
    "  profctl diff before.json after.json\n"
    "  profctl diff before.json after.json -o diff.svg\n"
    "  profctl diff 2h..1h 1h.. --unit nginx\n"
    "  profctl diff all.json all.json --filter-a pid=12 --filter-b pid=13\n"
    "  profctl diff --fleet clickhouse://HOST --service cart --version 1.4.1 1.4.2\n"
    "  profctl diff --fleet --service cart --before 2h..1h --after 1h..";

// What Write writes; a file name says which by its extension.
struct Format {
  std::string_view name;
  std::vector<std::string_view> extensions;
  bool for_terminals = true;
  Result<void> (*write)(const Diff& diff, const v1::Profile& a, const v1::Profile& b,
                        std::ostream& out) = nullptr;  // null: the table
};

std::span<const Format> Formats() {
  using P = const v1::Profile&;
  static const std::array<Format, 4> formats{{
      {.name = "folded",
       .extensions = {".folded", ".collapsed", ".txt"},
       .write = [](const Diff& diff, P, P,
                   std::ostream& out) { return WriteDiffFolded(diff, out); }},
      {.name = "svg",
       .extensions = {".svg"},
       .for_terminals = false,
       .write = [](const Diff& diff, P a, P b,
                   std::ostream& out) { return WriteDiffSvg(diff, a, b, out); }},
      {.name = "json",
       .extensions = {".json"},
       .write = [](const Diff& diff, P, P, std::ostream& out) { return WriteDiffJson(diff, out); }},
      {.name = "table", .extensions = {}},
  }};
  return formats;
}
const Format& Folded() { return Formats().front(); }
const Format& Table() { return Formats().back(); }

struct Output {
  std::string path;
  const Format* format;
};

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const Format& format : Formats()) names.emplace_back(format.name);
  return names;
}

Result<const Format*> FormatByName(std::string_view name) {
  if (name == kSummaryFormat) return &Table();  // what collect calls its table
  for (const Format& format : Formats())
    if (format.name == name) return &format;
  return Error{ErrorCode::kInvalidArgument,
               "no format of a diff is called '" + std::string(name) + "'",
               "it is one of " + OneOf(FormatNames())};
}

// Null: the extension names none.
const Format* FormatByFileName(std::string_view path) {
  for (const Format& format : Formats())
    for (const std::string_view extension : format.extensions)
      if (path.ends_with(extension)) return &format;
  return nullptr;
}

// As collect has it: what the name of a file says goes before -f, and the terminal gets the table.
Result<std::vector<Output>> PlanOutputs(const DiffCommandOptions& options) {
  const Format* format = nullptr;
  if (!options.format.empty()) {
    const Result<const Format*> named = FormatByName(options.format);
    if (!named) return named.error();
    format = *named;
  }
  const bool terminal = IsTerminal(STDOUT_FILENO);
  if (options.files.empty()) {
    if (terminal && format != nullptr && !format->for_terminals)
      return Error{ErrorCode::kInvalidArgument,
                   "a terminal cannot show " + std::string(format->name),
                   "name a file with -o, or say -o - if it is meant"};
    if (format == nullptr) format = terminal ? &Table() : &Folded();
    return std::vector<Output>{{std::string(kStdout), format}};
  }
  std::vector<Output> outputs;
  bool format_used = format == nullptr;
  for (const std::string& file : options.files) {
    if (std::ranges::find(outputs, file, &Output::path) != outputs.end())
      return Error{ErrorCode::kInvalidArgument, file + " is named twice",
                   "each output needs a name of its own"};
    if (file != kStdout) PROFD_TRY(OutputFile::Check(file));
    const Format* by_name = FormatByFileName(file);
    if (format != nullptr && (by_name == nullptr || file.ends_with(".txt"))) by_name = format;
    if (by_name == nullptr && file == kStdout) by_name = &Folded();
    if (by_name == nullptr)
      return Error{ErrorCode::kInvalidArgument, "the extension of '" + file + "' names no format",
                   "end the name in .svg, .folded or .json, or name the format with -f"};
    outputs.push_back({file, by_name});
    format_used = format_used || format == by_name;
  }
  if (!format_used)
    return Error{
        ErrorCode::kInvalidArgument,
        "-f " + options.format + " is for no output: all files say by their names what they are",
        "leave it out, or rename a file"};
  return outputs;
}

std::string NameOf(const DiffInput& side) {
  return (side.source == kStdout ? "standard input" : side.source) +
         (side.filter.empty() ? "" : " " + side.filter);
}

// A word that was meant as a range and is none is looked for as a file.
Result<v1::Profile> ReadFile(const std::string& path) {
  Result<v1::Profile> profile = ReadProfileFile(path);
  if (profile || profile.error().code != ErrorCode::kIo || path.find('/') != std::string::npos ||
      path.find("..") == std::string::npos)
    return profile;
  Error error = profile.error();
  error.hint = "nor is it a range of times: those are 2h..1h, 14:05..14:20 or 1h..";
  return error;
}

// Both profiles and what they differ in, and where that goes.
class Comparison {
 public:
  Comparison(const DiffCommandOptions& options, const Context& context)
      : options_(options), context_(context) {}

  [[nodiscard]] int ExitCodeOfError(const Error& error) const {
    if (fleet_) return fleet_->ExitCodeOfError(error);
    context_.console.Fail(error);
    return ToInt(ExitCodeOf(error.code));
  }

  // False: an output failed, and the console knows.
  Result<bool> Run() {
    const Result<std::vector<Output>> outputs = PlanOutputs(options_);
    if (!outputs) return outputs.error();
    std::unique_ptr<StopSignals> signals;
    if (options_.fleet) {
      auto session = FleetSession::Open(*options_.fleet, context_);
      if (!session) return session.error();
      fleet_ = *std::move(session);
    } else {
      // Only the temporary files have to be looked after: reading may be broken off at any time.
      auto blocked = StopSignals::Block();
      if (!blocked) return blocked.error();
      signals = *std::move(blocked);
      signals->Handle([this](int signal, bool /*from_terminal*/) {
        context_.temp_files.RemoveAll();
        ::_exit(128 + signal);
      });
    }
    Result<v1::Profile> a = ReadSide(options_.a);
    if (!a) return a.error();
    Result<v1::Profile> b = ReadSide(options_.b);
    if (!b) return b.error();
    a_ = *std::move(a);
    b_ = *std::move(b);
    if (fleet_) SettleHosts();
    if (options_.on_whom != PathDetail::kNone && !(a_.wakers() && b_.wakers()))
      context_.console.Say(
          "--on-whom compares nothing: " + NameOf(a_.wakers() ? options_.b : options_.a) +
          " does not know who ends waits\n" + std::string(kHowToKnowWakers));
    Result<Diff> diff = Diff::Build(a_, b_,
                                    {.absolute = options_.absolute,
                                     .threads = options_.threads,
                                     .signatures = options_.names.signatures,
                                     .mangled = options_.names.mangled,
                                     .on_whom = options_.on_whom,
                                     .a_name = NameOf(options_.a),
                                     .b_name = NameOf(options_.b)});
    if (!diff) return diff.error();
    bool all = true;
    for (const Output& output : *outputs) {
      const Result<void> written = Write(*diff, output);
      if (written) continue;
      all = false;
      if (!written.error().message.empty()) context_.console.Fail(written.error());
    }
    return all;
  }

 private:
  // A range of the history or a file, restricted to some of its threads.
  Result<v1::Profile> ReadSide(const DiffInput& side) {
    Result<v1::Profile> profile = side.fleet     ? AskSide(*side.fleet)
                                  : side.history ? Ask(*side.history)
                                                 : ReadFile(side.source);
    if (!profile) return profile.error();
    if (!side.filter.empty()) {
      const Result<ThreadFilter> filter = ThreadFilter::Parse(side.filter);
      if (!filter) return filter.error();
      profile = OnlyThreads(*profile, *filter);
      if (!profile) return profile.error().Wrap(side.source + ", " + side.filter);
    }
    if (options_.names.interpreter_frames) return profile;
    std::optional<v1::Profile> shown = WithoutInterpreterFrames(*profile);
    return shown ? *std::move(shown) : *std::move(profile);
  }

  Result<v1::Profile> AskSide(FleetQuestion question) {
    const auto hosts = fleet_->question().fits.find(FleetKey::kHost);
    if (hosts != fleet_->question().fits.end()) question.fits[FleetKey::kHost] = hosts->second;
    return fleet_->Ask(question);
  }

  // Hosts are what varies where both sides have several; else samples are.
  void SettleHosts() {
    const bool by_hosts = ShareError(a_).by_hosts() && ShareError(b_).by_hosts();
    for (v1::Profile* side : {&a_, &b_}) MeasureByHostTime(*side);
    if (by_hosts) return;
    for (v1::Profile* side : {&a_, &b_})
      for (v1::Process& process : *side->mutable_processes())
        process.mutable_labels()->erase(std::string(kHostGroupLabel));
    context_.console.Say(
        "a side has one host only: what may be chance is judged by the samples of both, and not by "
        "how much hosts differ");
  }

  Result<v1::Profile> Ask(const HistoryQuestion& question) {
    if (!client_) {
      auto connected = ConnectToRunning(context_.global.host);
      if (!connected) return connected.error();
      client_ = *std::move(connected);
    }
    return AskHistory(question, *client_);
  }

  Result<void> Write(const Diff& diff, const Output& output) const {
    const bool to_stdout = output.path == kStdout;
    const auto writer = [&](std::ostream& out) -> Result<void> {
      if (output.format->write != nullptr) return output.format->write(diff, a_, b_, out);
      out << TableText(diff, to_stdout);
      return {};
    };
    if (to_stdout) {
      const auto written = WriteToFd(STDOUT_FILENO, "standard output", writer);
      return written ? Result<void>{} : written.error();
    }
    const auto written = OutputFile::Write(output.path, writer, InvokingUser::FromEnvironment(),
                                           context_.temp_files);
    if (!written) return written.error();
    context_.console.Say("wrote " + output.path + " (" + FormatBytes(*written) + ")");
    return {};
  }

  std::string TableText(const Diff& diff, bool to_stdout) const {
    const bool terminal = to_stdout && IsTerminal(STDOUT_FILENO);
    return RenderDiff(
        diff, {.width = terminal ? WidthOf(STDOUT_FILENO) : kFileWidth,
               .palette = Palette(to_stdout && UseColor(context_.global.color, STDOUT_FILENO)),
               .complete = context_.global.verbose,
               .footer = terminal ? "as a flame graph: add -o diff.svg" : ""});
  }

  const DiffCommandOptions& options_;
  const Context& context_;
  std::unique_ptr<GrpcClient> client_;   // null: no side has needed it yet
  std::unique_ptr<FleetSession> fleet_;  // null: it is none of a fleet
  v1::Profile a_;
  v1::Profile b_;
};

}  // namespace

DiffVerb::DiffVerb()
    : Verb({.name = "diff",
            .usage =
                "profctl diff A B [WHO]... [-o FILE]... [OPTIONS]\n"
                "       profctl diff --fleet URL --service NAME --version A B [OPTIONS]\n"
                "       profctl diff --fleet URL --service NAME --before A --after B [OPTIONS]",
            .summary = "compare two profiles, of files or of the history: what changed from A to B",
            .about = kAbout,
            .footer = kFooter}) {
  command().Add({.names = "SIDES", .into = &sides_, .offer = Offer::kFiles});
  AddFilters(command(), filters_);
  command().Add({.group = kWhatGroup,
                 .names = "--absolute",
                 .into = &options_.absolute,
                 .help = "compare times as they are, not scaled"});
  command().Add({.group = kWhatGroup,
                 .names = "--filter-a",
                 .into = &options_.a.filter,
                 .value = "FILTER",
                 .help = "only a part of A: pid=N, tid=N, or comm, exe, cgroup, container, unit, "
                         "user or thread=NAME, with commas between them"});
  command().Add({.group = kWhatGroup,
                 .names = "--filter-b",
                 .into = &options_.b.filter,
                 .value = "FILTER",
                 .help = "only a part of B"});
  AddFleet(command(), fleet_);
  AddFleetSides();
  AddOutput();
}

void DiffVerb::AddFleetSides() {
  AddTimes(command(), times_);
  command().Add({.group = kWhenGroup,
                 .names = "--before",
                 .into = &before_,
                 .value = "RANGE",
                 .help = "of a fleet: A, a range of times as 2h..1h",
                 .more = "With two versions --since, --from and --to say when."});
  command().Add({.group = kWhenGroup,
                 .names = "--after",
                 .into = &after_,
                 .value = "RANGE",
                 .help = "of a fleet: B"});
}

Result<void> DiffVerb::TakeRanges(FleetRequest& fleet, const std::vector<std::string>& ranges) {
  if (!times_.since.empty() || !times_.from.empty() || !times_.to.empty())
    return Usage("both two ranges and --since, --from or --to are named", "leave one out");
  const std::uint64_t now_unix_ns = NowUnixNs();
  std::size_t next = 0;
  for (DiffInput* side : {&options_.a, &options_.b}) {
    const std::string& word = ranges[next++];
    const auto range = ParseRange({}, word, now_unix_ns);
    if (!range) return range.error();
    if (!*range) return Usage(word + " is no range of times", "those are 2h..1h or 14:05..14:20");
    side->source = fleet.question.service + " " + word;
    side->fleet = fleet.question;
    SetRange((**range).request, now_unix_ns, *side->fleet);
  }
  return {};
}

Result<void> DiffVerb::TakeFleet() {
  auto fleet = ParseFleet(fleet_, filters_, times_, NowUnixNs());
  if (!fleet) return fleet.error();
  PROFD_TRY(CheckService(fleet->question));
  fleet->question.by_host_groups = true;
  std::vector<std::string> ranges;
  std::vector<std::string> versions = fleet_.versions;
  if (!before_.empty() || !after_.empty()) {
    if (before_.empty() || after_.empty())
      return Usage("only one of --before and --after is given", "name the other one, too");
    ranges = {before_, after_};
  }
  for (const std::string& word : sides_)
    (word.find("..") == std::string::npos ? versions : ranges).push_back(word);
  const std::string form =
      "as in profctl diff --fleet --service cart --version 1.4.1 1.4.2, or --before 2h..1h --after "
      "1h..";
  if (ranges.size() == 2) {
    fleet->question.fits[FleetKey::kVersion] = versions;
    PROFD_TRY(TakeRanges(*fleet, ranges));
  } else if (ranges.empty() && versions.size() == 2) {
    for (const auto& [side, version] :
         {std::pair(&options_.a, versions[0]), {&options_.b, versions[1]}}) {
      side->source = fleet->question.service + " " + version;
      side->fleet = fleet->question;
      side->fleet->fits[FleetKey::kVersion] = {version};
    }
  } else {
    return Usage("neither two versions nor two ranges are named", form);
  }
  options_.fleet = *std::move(fleet);
  return {};
}

void DiffVerb::AddOutput() {
  AddOutputFiles(command(), options_.files,
                 "write to FILE: .svg, .folded or .json; may be given again for more files; - is "
                 "standard output");
  AddFormat(command(), options_.format, FormatNames());
  command().Add({.group = kOutputGroup,
                 .names = "--threads",
                 .into = &options_.threads,
                 .help = "keep threads apart by their names"});
  AddNames(command(), options_.names);
  AddOnWhom(command(), on_whom_);
}

Result<void> DiffVerb::Take() {
  const Result<PathDetail> on_whom = ParseOnWhom(on_whom_);
  if (!on_whom) return on_whom.error();
  options_.on_whom = *on_whom;
  if (fleet_.requested()) return TakeFleet();
  PROFD_TRY(CheckNoFleet(fleet_));
  if (!before_.empty() || !after_.empty() || !times_.since.empty() || !times_.from.empty() ||
      !times_.to.empty())
    return Usage("--before, --after, --since, --from and --to are for fleets here",
                 "a range of the history is a side by itself: profctl diff 2h..1h 1h..");
  const std::string form = "as in profctl diff before.json after.json, or profctl diff 2h..1h 1h..";
  if (sides_.size() < 2)
    return Usage(sides_.empty() ? "nothing to compare is named" : "only one side is named", form);
  if (sides_.size() > 2) return Usage("more than two sides are named", form);
  if (sides_[0] == "-" && sides_[1] == "-") return Usage("both sides are standard input", form);
  const std::uint64_t now_unix_ns = NowUnixNs();
  for (const auto& [side, word] : {std::pair(&options_.a, sides_[0]), {&options_.b, sides_[1]}}) {
    auto question = ParseRange(filters_, word, now_unix_ns);
    if (!question) return question.error();
    side->source = word;
    side->history = *std::move(question);
  }
  const std::string filter = FirstFilter(filters_);
  if (!filter.empty() && !options_.a.history && !options_.b.history)
    return Usage(filter + " is for the history, and both sides are files",
                 "--filter-a and --filter-b take a part of a file; a range is written 2h..1h");
  return {};
}

int DiffVerb::Run(const Context& context) {
  Comparison comparison(options_, context);
  const Result<bool> compared = comparison.Run();
  if (compared) return ToInt(*compared ? ExitCode::kOk : ExitCode::kFailure);
  return comparison.ExitCodeOfError(compared.error());
}

}  // namespace profd::client
