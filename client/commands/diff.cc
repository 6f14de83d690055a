#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/commands/commands.h"
#include "client/commands/history.h"
#include "client/commands/profile_file.h"
#include "client/format/diff_svg.h"
#include "client/format/diff_text.h"
#include "client/link/daemon_choice.h"
#include "client/profile/diff.h"
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

enum class Format { kTable, kFolded, kSvg, kJson };

struct Output {
  std::string path;
  Format format = Format::kTable;
};

Result<Format> FormatByName(const std::string& name) {
  if (name == "folded") return Format::kFolded;
  if (name == "svg") return Format::kSvg;
  if (name == "json") return Format::kJson;
  if (name == "table" || name == "summary") return Format::kTable;
  return Error{ErrorCode::kInvalidArgument, "no format of a diff is called '" + name + "'",
               "the formats are folded, svg, json and table"};
}

std::optional<Format> FormatByFileName(std::string_view path) {
  if (path.ends_with(".svg")) return Format::kSvg;
  if (path.ends_with(".json")) return Format::kJson;
  if (path.ends_with(".folded") || path.ends_with(".collapsed") || path.ends_with(".txt"))
    return Format::kFolded;
  return std::nullopt;
}

// As collect has it: what the name of a file says goes before -f, and the terminal gets the table.
Result<std::vector<Output>> PlanOutputs(const DiffCommandOptions& options) {
  std::optional<Format> format;
  if (!options.format.empty()) {
    const Result<Format> named = FormatByName(options.format);
    if (!named) return named.error();
    format = *named;
  }
  const bool terminal = IsTerminal(STDOUT_FILENO);
  if (options.files.empty()) {
    if (terminal && format == Format::kSvg)
      return Error{ErrorCode::kInvalidArgument, "a terminal cannot show svg",
                   "name a file with -o, or say -o - if it is meant"};
    return std::vector<Output>{
        {std::string(kStdout), format.value_or(terminal ? Format::kTable : Format::kFolded)}};
  }
  std::vector<Output> outputs;
  bool format_used = !format;
  for (const std::string& file : options.files) {
    if (std::ranges::find(outputs, file, &Output::path) != outputs.end())
      return Error{ErrorCode::kInvalidArgument, file + " is named twice",
                   "each output needs a name of its own"};
    if (file != kStdout) PROFD_TRY(OutputFile::Check(file));
    std::optional<Format> by_name = FormatByFileName(file);
    if (format && (!by_name || file.ends_with(".txt"))) by_name = format;
    if (!by_name && file == kStdout) by_name = Format::kFolded;
    if (!by_name)
      return Error{ErrorCode::kInvalidArgument, "the extension of '" + file + "' names no format",
                   "end the name in .svg, .folded or .json, or name the format with -f"};
    outputs.push_back({file, *by_name});
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

  // False: an output failed, and the console knows.
  Result<bool> Run() {
    const Result<std::vector<Output>> outputs = PlanOutputs(options_);
    if (!outputs) return outputs.error();
    // Only the temporary files have to be looked after: reading may be broken off at any time.
    const auto signals = StopSignals::Block();
    if (!signals) return signals.error();
    (*signals)->Handle([this](int signal, bool /*from_terminal*/) {
      context_.temp_files.RemoveAll();
      ::_exit(128 + signal);
    });
    Result<v1::Profile> a = ReadSide(options_.a);
    if (!a) return a.error();
    Result<v1::Profile> b = ReadSide(options_.b);
    if (!b) return b.error();
    a_ = *std::move(a);
    b_ = *std::move(b);
    Result<Diff> diff = Diff::Build(a_, b_,
                                    {.absolute = options_.absolute,
                                     .threads = options_.threads,
                                     .signatures = options_.signatures,
                                     .mangled = options_.mangled,
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
    Result<v1::Profile> profile = side.history ? Ask(*side.history) : ReadFile(side.source);
    if (!profile) return profile.error();
    if (!side.filter.empty()) {
      const Result<ThreadFilter> filter = ThreadFilter::Parse(side.filter);
      if (!filter) return filter.error();
      profile = OnlyThreads(*profile, *filter);
      if (!profile) return profile.error().Wrap(side.source + ", " + side.filter);
    }
    if (options_.interpreter_frames) return profile;
    std::optional<v1::Profile> shown = WithoutInterpreterFrames(*profile);
    return shown ? *std::move(shown) : *std::move(profile);
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
      switch (output.format) {
        case Format::kFolded:
          return WriteDiffFolded(diff, out);
        case Format::kSvg:
          return WriteDiffSvg(diff, a_, b_, out);
        case Format::kJson:
          return WriteDiffJson(diff, out);
        case Format::kTable:
          out << Table(diff, to_stdout);
          return {};
      }
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

  std::string Table(const Diff& diff, bool to_stdout) const {
    const bool terminal = to_stdout && IsTerminal(STDOUT_FILENO);
    return RenderDiff(
        diff, {.width = terminal ? WidthOf(STDOUT_FILENO) : kFileWidth,
               .palette = Palette(to_stdout && UseColor(context_.global.color, STDOUT_FILENO)),
               .complete = context_.global.verbose,
               .footer = terminal ? "as a flame graph: add -o diff.svg" : ""});
  }

  const DiffCommandOptions& options_;
  const Context& context_;
  std::unique_ptr<GrpcClient> client_;  // null: no side has needed it yet
  v1::Profile a_;
  v1::Profile b_;
};

}  // namespace

int RunDiff(const DiffCommandOptions& options, const Context& context) {
  const Result<bool> compared = Comparison(options, context).Run();
  if (compared) return ToInt(*compared ? ExitCode::kOk : ExitCode::kFailure);
  context.console.Fail(compared.error());
  return ToInt(ExitCodeOf(compared.error().code));
}

}  // namespace profd::client
