#include "client/commands/common/profile_report.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "client/profile/profile_facts.h"
#include "client/profile/report/annotation.h"
#include "client/profile/report/call_tree.h"
#include "client/profile/report/report_table.h"
#include "client/profile/report/step_table.h"
#include "client/profile/steps/named_calls.h"
#include "client/profile/steps/step_events.h"
#include "client/screens/report/annotation_view.h"
#include "client/screens/report/calls_view.h"
#include "client/screens/report/report_sheet.h"
#include "client/screens/report/report_view.h"
#include "client/screens/report/steps_view.h"
#include "client/screens/report/tree_view.h"
#include "client/system/disassembler.h"
#include "client/text/text.h"
#include "daemon/base/files.h"
#include "daemon/base/unique_fd.h"

namespace profd::client {
namespace {

constexpr std::array kFormats{ReportFormat{"table", ".txt", Report::kReport},
                              ReportFormat{"csv", ".csv", Report::kReportCsv},
                              ReportFormat{"json", ".json", Report::kReportJson}};
constexpr ReportFormats kReportFormats("report", kFormats);
constexpr std::size_t kMaxSourceBytes = 8u << 20;

// A source file, whose path comes from the profile: only a regular one is read.
Result<std::string> ReadSource(const std::string& path) {
  const std::string name = SafeText(path);
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) return ErrorFromErrno(errno, "cannot read " + name);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return ErrorFromErrno(errno, "cannot read " + name);
  if (!S_ISREG(status.st_mode))
    return Error{ErrorCode::kUnsupported, "cannot read " + name + ": it is no regular file", ""};
  return ReadAll(file.get(), name, kMaxSourceBytes);
}

// One report of one profile.
class Rendering {
 public:
  Rendering(Report report, const v1::Profile& profile, const ReportQuestion& question,
            const ProfileReportOptions& options, const TableOptions& table_options)
      : report_(report),
        profile_(profile),
        question_(question),
        table_options_(table_options),
        view_{.width = options.look.width,
              .palette = options.look.palette,
              .complete = options.look.complete} {}

  [[nodiscard]] Result<std::string> Table() const {
    ReportTable table = TableBy(*question_.keys[0], profile_, table_options_);
    const bool counted = table.counted;
    table.counted = counted || question_.counters;  // of what is not counted all rows are equal
    PROFD_TRY(SortRows(table, question_.sort));
    table.counted = counted;
    if (report_ != Report::kReport) return Rows(SheetOf(table));
    return question_.counters && counted ? RenderCounters(profile_, table, question_, view_)
                                         : RenderReport(profile_, table, question_, view_);
  }

  [[nodiscard]] Result<std::string> Cross() const {
    const CrossTable table =
        CrossBy(*question_.keys[0], *question_.keys[1], profile_, table_options_);
    if (report_ != Report::kReport) return Rows(SheetOf(table));
    return RenderReport(profile_, TimeOf(profile_), table, question_, view_);
  }

  [[nodiscard]] Result<std::string> Tree() const {
    const auto tree = ProgramTree(
        profile_, question_.timeline ? TreeOrder::kTimeline : TreeOrder::kMerged, table_options_);
    if (!tree) return tree.error();
    if (report_ != Report::kReport) return Text(SheetOf(*tree));
    return Head() + RenderTree(*tree, "calls", Scale(tree->all_ns), Cut(), view_);
  }

  [[nodiscard]] Result<std::string> Sides() const {
    ReportSheet sheet;
    std::string text = Head();
    for (const bool callers : {true, false}) {
      const std::string& function = callers ? question_.callers : question_.callees;
      if (function.empty()) continue;
      const auto tree = callers ? CallersOf(function, profile_, table_options_)
                                : CalleesOf(function, profile_, table_options_);
      if (!tree) return tree.error();
      const std::string side = callers ? "callers" : "callees";
      if (report_ != Report::kReport) {
        AddSide(SheetOf(*tree), side, sheet);
        continue;
      }
      if (!callers && !question_.callers.empty()) text += "\n";
      text +=
          RenderTree(*tree, side + " of " + tree->nodes[0].name, Scale(tree->all_ns), Cut(), view_);
    }
    return report_ == Report::kReport ? text : Text(sheet);
  }

  [[nodiscard]] Result<std::string> Steps(const ProgramSteps& steps) const {
    const StepTable table = StepsOf(steps, profile_);
    if (report_ != Report::kReport) return Rows(SheetOf(table, profile_));
    return RenderSteps(profile_, table, question_, view_);
  }

  [[nodiscard]] Result<std::string> Calls() const {
    const std::vector<NamedCalls> calls = NamedCallsOf(profile_);
    if (calls.empty()) {
      const std::string why = WhyNotWatched(profile_);
      return Error{
          ErrorCode::kNotFound, "the program has named no call",
          why.empty() ? "PyTorch's record_function and PaddlePaddle's RecordEvent do, if they were "
                        "watched: --step calls; --step SPEC names functions"
                      : "not watched: " + why};
    }
    if (report_ != Report::kReport) return Text(SheetOf(calls));
    return RenderCalls(profile_, calls, question_, view_);
  }

  [[nodiscard]] Result<std::string> Annotate() const {
    const auto annotation = AnnotationOf(question_.annotate, profile_, table_options_);
    if (!annotation) return annotation.error();
    const auto texts = TextsOf(*annotation);
    if (!texts) return texts.error();
    if (report_ != Report::kReport) return Text(SheetOf(*annotation, *texts));
    return Head() + RenderAnnotation(*annotation, *texts, Scale(annotation->all_ns), view_);
  }

 private:
  [[nodiscard]] std::string Head() const {
    return ReportHead(profile_, TimeOf(profile_), question_, view_) + "\n";
  }
  [[nodiscard]] ReportScale Scale(std::uint64_t all_ns) const {
    return {question_.unit, all_ns, LengthNs(profile_), question_.filter.has_value()};
  }
  [[nodiscard]] TreeCut Cut() const {
    TreeCut cut{.least_share = question_.least_share};
    if (question_.depth) cut.depth = *question_.depth;
    return cut;
  }
  [[nodiscard]] std::string Text(const ReportSheet& sheet) const {
    return report_ == Report::kReportCsv ? SheetCsv(sheet) : SheetJson(sheet, profile_);
  }
  [[nodiscard]] std::string Rows(ReportSheet sheet) const {
    if (question_.limit && *question_.limit < sheet.rows.size())
      sheet.rows.resize(*question_.limit);
    return Text(sheet);
  }
  static void AddSide(ReportSheet from, const std::string& side, ReportSheet& to) {
    to.columns = std::move(from.columns);
    to.columns.insert(to.columns.begin(), "side");
    to.total_ns = from.total_ns;
    for (std::vector<ReportSheet::Cell>& row : from.rows) {
      row.insert(row.begin(), side);
      to.rows.push_back(std::move(row));
    }
  }
  static Result<std::vector<PlaceText>> TextsOf(const Annotation& annotation) {
    if (annotation.kind == Annotation::Kind::kSource) {
      const auto source = ReadSource(annotation.path);
      if (!source) return source.error();
      return LinesIn(*source);
    }
    const char* path = std::getenv("PATH");
    const auto objdump = FindObjdump(path == nullptr ? "" : path);
    if (!objdump) return objdump.error();
    const auto code = Disassemble(*objdump, annotation.path, annotation.symbol);
    if (!code) return code.error();
    std::vector<PlaceText> texts;
    for (const Instruction& one : *code)
      texts.push_back({one.offset, HexNumber(one.address), one.text});
    return texts;
  }

  const Report report_;
  const v1::Profile& profile_;
  const ReportQuestion& question_;
  const TableOptions& table_options_;
  const ReportViewOptions view_;
};

}  // namespace

std::vector<std::string> ProfileReportFormats() { return kReportFormats.Names(); }

Result<Report> ProfileReportOf(const std::string& file, const std::string& format) {
  return kReportFormats.Find(file, format);
}

Result<ReportSubject> RestrictTo(const ReportQuestion& question, v1::Profile profile) {
  ReportSubject subject;
  const bool optional = question.ShowsStepsIfAny() && profile.operators_size() != 0;
  if (question.NeedsSteps() || optional) {
    auto steps = FindProgramSteps(profile, question.step_choice);
    if (!steps && (question.NeedsSteps() || question.step_choice.IsNamed())) return steps.error();
    if (steps) subject.steps = *std::move(steps);
  }
  if (question.filter) {
    subject.errors = ShareError(profile).rates();
    auto restricted =
        question.filter->Apply(std::move(profile), subject.steps ? &subject.steps->loop : nullptr);
    if (!restricted) return restricted.error();
    profile = *std::move(restricted);
  }
  subject.profile = std::move(profile);
  return subject;
}

Result<std::string> RenderProfileReport(Report report, const v1::Profile& profile,
                                        const ReportQuestion& question,
                                        const ProfileReportOptions& options) {
  TableOptions table_options;
  table_options.style.signature = options.names.signatures;
  table_options.style.mangled = options.names.mangled;
  table_options.kernel = question.kernel;
  if (options.steps != nullptr) table_options.steps = &options.steps->loop;
  table_options.errors = options.errors;
  const Rendering rendering(report, profile, question, options, table_options);
  if (!question.annotate.empty()) return rendering.Annotate();
  if (question.steps) return rendering.Steps(*options.steps);
  if (question.exact) return rendering.Calls();
  if (question.tree) return rendering.Tree();
  if (!question.callers.empty() || !question.callees.empty()) return rendering.Sides();
  return question.keys.size() == 2 ? rendering.Cross() : rendering.Table();
}

}  // namespace profd::client
