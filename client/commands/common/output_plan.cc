#include "client/commands/common/output_plan.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "client/commands/common/profile_report.h"
#include "client/commands/common/thread_reports.h"
#include "client/commands/common/wait_reports.h"
#include "client/profile/profile_parts.h"
#include "client/screens/json/screen_json.h"
#include "client/screens/list/group_table.h"
#include "client/screens/summary/summary.h"
#include "client/screens/symbols/symbols_view.h"
#include "client/system/output_file.h"
#include "client/system/packages.h"
#include "client/system/terminal.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

constexpr std::string_view kStdout = "-";
constexpr std::size_t kFileWidth = 120;    // columns of a summary that goes elsewhere
constexpr std::size_t kReportWidth = 100;  // of the other reports

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// The form of a command's report in one of its files.
Result<Report> FormOf(const OutputOptions& options, const std::string& file) {
  switch (options.report) {
    case Report::kWaits:
      return WaitReportOf(file, options.format);
    case Report::kReport:
      return ProfileReportOf(file, options.format);
    case Report::kThreads:
      return ThreadReportOf(file, options.format);
    default:
      return options.report;
  }
}

}  // namespace

Result<OutputPlan> OutputPlan::Make(const OutputOptions& options, bool stdout_is_terminal) {
  const bool threads = options.threads || options.group_by == GroupKey::kThread;
  const Result<PathDetail> on_whom = ParseOnWhom(options.on_whom);
  if (!on_whom) return on_whom.error();
  OutputPlan plan({.threads = threads,
                   .signatures = options.names.signatures,
                   .mangled = options.names.mangled,
                   .on_whom = *on_whom},
                  options);
  if (!options.filter.empty()) {
    auto filter = SampleFilter::Parse(options.filter);
    if (!filter) return filter.error();
    plan.filter_ = *std::move(filter);
  }
  if (options.report != Report::kSummary) {
    PROFD_TRY(plan.AddReports(options, stdout_is_terminal));
    return plan;
  }
  const Exporter* format = nullptr;
  const bool summary = options.format == kSummaryFormat;
  if (!options.format.empty() && !summary) {
    const Result<const Exporter*> named = ExporterByName(options.format);
    if (!named) return named.error();
    format = *named;
  }
  const auto folded = ExporterByName("folded");
  if (!folded) return folded.error();
  if (options.files.empty()) {
    if (format == nullptr && !summary && !stdout_is_terminal) format = *folded;
    if (format != nullptr && stdout_is_terminal && !format->for_terminals)
      return Error{ErrorCode::kInvalidArgument,
                   "a terminal cannot show " + std::string(format->name),
                   "name a file with -o, or say -o - if it is meant"};
    plan.outputs_.push_back({std::string(kStdout), format});
    return plan;
  }
  bool format_used = options.format.empty();
  for (const std::string& file : options.files) {
    if (file.empty())
      return Error{ErrorCode::kInvalidArgument, "the name of an output file is empty", ""};
    if (std::ranges::find(plan.outputs_, file, &Output::path) != plan.outputs_.end())
      return Error{ErrorCode::kInvalidArgument, file + " is named twice",
                   "each output needs a name of its own"};
    // First of all: that a directory has no extension is not what is wrong with it.
    if (file != kStdout) PROFD_TRY(OutputFile::Check(file));
    const Result<const Exporter*> by_name = file == kStdout ? folded : ExporterByFileName(file);
    // An extension says what a file is; ".txt" says no more than that it is text.
    const bool open = file == kStdout || file.ends_with(".txt") || !by_name;
    const bool by_option = open && !options.format.empty();
    if (!by_option && !by_name) return by_name.error();
    plan.outputs_.push_back({file, by_option ? format : *by_name});
    format_used = format_used || plan.outputs_.back().exporter == format;
  }
  if (!format_used)
    return Error{
        ErrorCode::kInvalidArgument,
        "-f " + options.format + " is for no output: all files say by their names what they are",
        "leave it out, or rename a file"};
  return plan;
}

Result<void> OutputPlan::AddReports(const OutputOptions& options, bool stdout_is_terminal) {
  std::vector<std::string> files = options.files;
  if (files.empty()) files.emplace_back(kStdout);
  for (const std::string& file : files) {
    if (file != kStdout) PROFD_TRY(OutputFile::Check(file));
    const Result<Report> report = FormOf(options, file);
    if (!report) return report.error();
    if (*report == Report::kWaitsSvg && options.files.empty() && stdout_is_terminal)
      return Error{ErrorCode::kInvalidArgument, "a terminal cannot show svg",
                   "name a file with -o, or say -o - if it is meant"};
    outputs_.push_back({file, nullptr, *report});
  }
  return {};
}

std::string OutputPlan::RenderTable(Report report, const v1::Profile& profile, std::size_t width,
                                    const Palette& palette, bool complete) const {
  const GroupKey key = group_by_.value_or(GroupKey::kProcess);
  if (report == Report::kListJson) return GroupsJson(profile, key);
  if (report != Report::kList && !group_by_) return "";
  return RenderGroups(profile,
                      {.key = key, .width = width, .palette = palette, .complete = complete});
}

Result<std::string> OutputPlan::RenderReport(const v1::Profile& profile, const Output& output,
                                             const std::string& footer,
                                             const Context& context) const {
  const bool to_stdout = output.path == kStdout;
  const bool terminal = to_stdout && IsTerminal(STDOUT_FILENO);
  const std::size_t width = terminal ? WidthOf(STDOUT_FILENO) : kFileWidth;
  const Palette palette(to_stdout && UseColor(context.global.color, STDOUT_FILENO));
  const ReportLook look{.width = width,
                        .palette = palette,
                        .complete = context.global.verbose,
                        .counters = question_.counters};
  if (report_ == Report::kWaits) return RenderWaitReport(output.report, profile, look);
  if (report_ == Report::kThreads) return RenderThreadReport(output.report, profile, look);
  if (report_ == Report::kReport)
    return RenderProfileReport(output.report, profile, question_,
                               {.look = look,
                                .names = options_,
                                .steps = steps_ ? &*steps_ : nullptr,
                                .errors = errors_ ? &*errors_ : nullptr});
  if (std::string table =
          RenderTable(output.report, profile, width, palette, context.global.verbose);
      !table.empty())
    return table;
  if (output.report == Report::kSummary)
    return RenderSummary(profile, {.width = width,
                                   .palette = palette,
                                   .complete = context.global.verbose,
                                   .footer = terminal ? footer : ""});
  SymbolsOptions symbols{.width = terminal ? width : kReportWidth,
                         .palette = palette,
                         .complete = context.global.verbose,
                         .packages = {}};
  // Of a profile that was made elsewhere this host's packages say nothing.
  if (profile.host() == HostName())
    for (auto& [path, package] : PackagesOf(ModulesToComplete(profile)))
      symbols.packages.emplace(path, DebugPackage(package));
  return output.report == Report::kSymbols ? RenderSymbols(profile, symbols)
                                           : SymbolsJson(profile, symbols.packages);
}

Result<void> OutputPlan::WriteOne(const Output& output, const v1::Profile& profile,
                                  const std::optional<InvokingUser>& owner,
                                  const std::string& footer, const Context& context) const {
  const bool to_stdout = output.path == kStdout;
  std::string report;
  if (output.exporter == nullptr) {
    Result<std::string> rendered = RenderReport(profile, output, footer, context);
    if (!rendered) return rendered.error();
    report = *std::move(rendered);
  }
  const auto writer = [&](std::ostream& out) -> Result<void> {
    if (output.exporter != nullptr) return output.exporter->write(profile, options_, out);
    out << report;
    return {};
  };
  if (to_stdout) {
    const auto written = WriteToFd(STDOUT_FILENO, "standard output", writer);
    if (!written) return written.error();
    return {};
  }
  const auto written = OutputFile::Write(output.path, writer, owner, context.temp_files);
  if (!written) return written.error();
  context.console.Say("wrote " + output.path + " (" + FormatBytes(*written) + ")");
  return {};
}

bool OutputPlan::IsComplete(const Output& output) const {
  if (output.exporter != nullptr) return output.exporter->complete;
  return output.report != Report::kSummary && report_ != Report::kReport;
}

Result<v1::Profile> OutputPlan::Restrict(v1::Profile profile) {
  if (report_ == Report::kWaits) PROFD_TRY(CheckWaits(profile));
  if (report_ == Report::kReport) {
    auto subject = RestrictTo(question_, std::move(profile));
    if (!subject) return subject.error();
    steps_ = std::move(subject->steps);
    errors_ = std::move(subject->errors);
    return std::move(subject->profile);
  }
  if (filter_) {
    ReportQuestion question;
    question.filter = filter_;
    auto part = RestrictTo(question, std::move(profile));
    if (!part) return part.error();
    profile = WhatFits(part->profile, filter_->text());
  }
  if (!gil_) return profile;
  return OnlyGil(profile);
}

const char* OutputPlan::WhatNeedsWakers() const {
  if (options_.on_whom != PathDetail::kNone) return "--on-whom";
  const bool by_whom =
      report_ == Report::kReport &&
      std::ranges::any_of(question_.keys, [](const auto& key) { return key->name == "on-whom"; });
  return by_whom ? "--by on-whom" : nullptr;
}

bool OutputPlan::Write(const v1::Profile& profile, const std::optional<InvokingUser>& owner,
                       const std::string& footer, const Context& context) const {
  const char* wanted = WhatNeedsWakers();
  if (wanted != nullptr && !profile.wakers())
    context.console.Say(std::string(wanted) +
                        " shows nothing: the profile does not know who ends waits\n" +
                        std::string(kHowToKnowWakers));
  bool all = true;
  std::optional<v1::Profile> shown;
  if (!interpreter_frames_) shown = WithoutInterpreterFrames(profile);
  const bool regroup = group_by_ && *group_by_ != GroupKey::kThread;
  for (const Output& output : outputs_) {
    const v1::Profile& what = shown && !IsComplete(output) ? *shown : profile;
    const bool by_group = regroup && output.exporter != nullptr && !IsComplete(output);
    const Result<void> written =
        WriteOne(output, by_group ? GroupBy(what, *group_by_) : what, owner, footer, context);
    if (written) continue;
    all = false;
    if (!written.error().message.empty()) context.console.Fail(written.error());
  }
  return all;
}

}  // namespace profd::client
