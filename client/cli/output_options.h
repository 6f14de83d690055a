// Where a profile goes, how it is written, and how its names look.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/command_model.h"
#include "client/profile/grouping.h"
#include "client/profile/options.h"
#include "client/profile/report/report_question.h"
#include "daemon/base/result.h"

namespace profd::client {

// What a summary and a terminal show of a profile.
enum class Report {
  kSummary,
  kSymbols,
  kSymbolsJson,
  kList,
  kListJson,
  kWaits,  // as the formats of its files say: the next three, too
  kWaitsJson,
  kWaitsDot,
  kWaitsSvg,
  kReport,  // as the formats of its files say: the next two, too
  kReportCsv,
  kReportJson,
  kThreads,  // the same
  kThreadsCsv,
  kThreadsJson
};

struct NameOptions {
  bool signatures = false;
  bool mangled = false;
  bool interpreter_frames = false;
};

struct OutputOptions {
  std::vector<std::string> files;    // "-" is stdout; empty: stdout, as fits what it is
  std::string format;                // empty: by the file name
  Report report = Report::kSummary;  // the others take the place of every format
  bool threads = false;
  NameOptions names;
  bool gil = false;                  // only time with the GIL held
  std::string filter;                // only samples that fit, as SampleFilter takes it; empty: all
  std::string on_whom;               // as ParseOnWhom takes it
  std::optional<GroupKey> group_by;  // none: by process, and the summary by thread
  ReportQuestion question;           // of Report::kReport
};

// The parser fills them as they are: what a format or a file name means is decided when they are
// written.
void AddNames(Command& command, NameOptions& names);
// -o, -f, --threads, AddNames, AddOnWhom, --gil, AddFilter.
void AddOutput(Command& command, OutputOptions& output);
// -o, as AddOutput has it.
void AddOutputFiles(Command& command, std::vector<std::string>& files, const std::string& help);
// -f, one of `names`. `more`: for the manual page only.
void AddFormat(Command& command, std::string& format, const std::vector<std::string>& names,
               const std::string& more = "");

// --on-whom.
void AddOnWhom(Command& command, std::string& text);
// Empty: kNone.
[[nodiscard]] Result<PathDetail> ParseOnWhom(const std::string& text);

// --filter.
void AddFilter(Command& command, std::string_view group, std::string& text);

void AddGroupBy(Command& command, std::string& text, const std::string& help);
// Empty: none.
[[nodiscard]] Result<std::optional<GroupKey>> ParseGroupBy(const std::string& text);

// --no-inlines and --no-lines.
struct RawPlaces {
  bool no_inlines = false;
  bool no_lines = false;
};
void AddPlaces(Command& command, std::string_view group, RawPlaces& raw);
void AddJson(Command& command, bool& json, const std::string& help);
void AddNoProgress(Command& command, bool& no_progress);
// --native, which users of py-spy type for what is so in any case. Nothing reads it.
void AddNative(Command& command, std::string_view group);

}  // namespace profd::client
