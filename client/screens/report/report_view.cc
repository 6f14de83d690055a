#include "client/screens/report/report_view.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "client/format/folded.h"
#include "client/profile/operators/operators.h"
#include "client/profile/profile_facts.h"
#include "client/profile/stack_names.h"
#include "client/text/number.h"
#include "client/text/table.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::size_t kRows = 20;
constexpr std::size_t kWideEnough = 100;  // columns; from here on functions have their module
constexpr std::size_t kCrossName = 30;    // columns that the names of rows have at least
constexpr std::size_t kCrossCell = 12;    // and each cell
constexpr std::size_t kGap = 3;           // between columns
constexpr double kShownShare = 0.005;

std::string Tilde(const SampledTime& time) { return time.rough() ? "~" : ""; }

std::size_t RowsShown(const ReportQuestion& question, const ReportViewOptions& options,
                      std::size_t rows) {
  if (question.limit) return std::min(*question.limit, rows);
  return options.complete ? rows : std::min(kRows, rows);
}

std::string MoreText(std::size_t rows) { return "... and " + FormatCount(rows) + " more"; }

// Samples of what ran, on which counts rest.
std::uint64_t RunningPoints(const ReportTime& time) {
  return time[TimePart::kWorking].points + time[TimePart::kSpinning].points;
}

// The cells of a column of sums, with their intervals side by side.
class SumColumn {
 public:
  SumColumn(const ReportScale& scale, const ReportTable& table, bool intervals)
      : scale_(scale), table_(table), intervals_(intervals) {}

  void Add(const SampledTime& time, const ErrorSum& error) {
    cells_.push_back(scale_.Cell(time));
    reaches_.push_back(intervals_ ? scale_.Reach(table_, time, error) : "");
    width_ = std::max(width_, reaches_.back().size());
  }
  [[nodiscard]] std::string Cell(std::size_t row) const {
    return cells_[row].empty() ? "" : cells_[row] + PadRight(reaches_[row], width_);
  }
  [[nodiscard]] bool any() const { return width_ > 0; }

 private:
  const ReportScale& scale_;
  const ReportTable& table_;
  const bool intervals_;
  std::vector<std::string> cells_;
  std::vector<std::string> reaches_;
  std::size_t width_ = 0;  // of them
};

// What is left out, as one row. It has no total: its rows may be in the same samples.
ReportRow RestOf(const ReportTable& table, std::size_t shown) {
  ReportRow rest;
  rest.name = MoreText(table.rows.size() - shown);
  for (std::size_t i = shown; i < table.rows.size(); ++i) {
    const ReportRow& row = table.rows[i];
    rest.self += row.self;
    rest.self_error += row.self_error;
    rest.with_workers += row.with_workers;
    rest.in_steps += row.in_steps;
  }
  return rest;
}

// Of one step on average.
std::string StepCell(const ReportTable& table, const ReportRow& row) {
  if (row.in_steps.ns == 0) return "";
  const bool rough = row.in_steps.rough() || table.steps->rough();
  return (rough ? "~" : "") + FormatDuration(table.StepNs(row));
}

// "a step is the mean of 120 by Optimizer.step#Adam.step", or by train (train.py), if the program
// does not say where they are; "": none are known.
std::string StepsText(const ReportTable& table) {
  if (table.steps == nullptr) return "";
  return "a step is the mean of " + std::string(table.steps->rough() ? "~" : "") +
         FormatCount(table.steps->steps()) + " by " +
         (table.steps->said_by.empty() ? table.steps->function : SafeName(table.steps->said_by)) +
         "\n";
}

// How much of the work has an operator; "" for other keys.
std::string Coverage(const v1::Profile& profile, const ReportKey& key) {
  if (!key.by_operators) return {};
  const Operators operators(profile);
  return CoverageText(TableOf(profile, operators), operators) + "\n";
}

}  // namespace

std::string ReportScale::Cell(const SampledTime& time) const {
  if (time.ns == 0) return "";
  switch (unit) {
    case ReportUnit::kTime:
      return Tilde(time) + FormatDuration(time.ns);
    case ReportUnit::kThreads:
      return Tilde(time) + FormatDecimals(ShareOf(time.ns, elapsed_ns), 2);
    default:
      return FormatSampledShare(ShareOf(time.ns, whole_ns), time.rough());
  }
}

std::string ReportScale::Reach(const ReportTable& table, const SampledTime& time,
                               const ErrorSum& error) const {
  if (time.ns == 0) return "";
  if (unit == ReportUnit::kShare) return FormatReach(table.ReachOf(error).value_or(0));
  const std::uint64_t reach_ns = table.ReachNs(error).value_or(0);
  if (unit == ReportUnit::kTime) return FormatDurationReach(reach_ns, time.ns);
  constexpr double kShown = 0.005;  // half of the last digit
  const double threads = ShareOf(reach_ns, elapsed_ns);
  return threads < kShown ? "" : " +-" + FormatDecimals(threads, 2);
}

std::string ReportScale::Inferred(const SampledTime& time, const ReportTime& self) const {
  const std::string cell = Cell(time);
  const bool sampled = time.ns == self[TimePart::kWorking].ns;
  return cell.empty() || sampled || cell.starts_with('~') ? cell : "~" + cell;
}

std::string ReportScale::Name() const {
  switch (unit) {
    case ReportUnit::kTime:
      return "time of all threads";
    case ReportUnit::kThreads:
      return "threads on average";
    default:
      return filtered ? "shares of the time that fits" : "shares of all thread time";
  }
}

ReportParts::ReportParts(const ReportTime& all) {
  const std::uint64_t whole_ns = all.all().ns;
  const auto shown = [&](TimePart part) { return ShareOf(all[part].ns, whole_ns) > kShownShare; };
  const bool spins = shown(TimePart::kSpinning);
  const bool stolen = shown(TimePart::kStolen);
  const auto add = [&](std::string_view name, std::vector<TimePart> parts) {
    names_.emplace_back(name);
    parts_.push_back(std::move(parts));
  };
  std::vector<TimePart> running{TimePart::kWorking};
  if (!spins) running.push_back(TimePart::kSpinning);
  if (!stolen) running.push_back(TimePart::kStolen);
  add(spins ? PartName(TimePart::kWorking) : "running", std::move(running));
  if (spins) add(PartName(TimePart::kSpinning), {TimePart::kSpinning});
  if (all[TimePart::kRunnable].ns != 0) add(PartName(TimePart::kRunnable), {TimePart::kRunnable});
  if (all[TimePart::kBlocked].ns != 0) add(PartName(TimePart::kBlocked), {TimePart::kBlocked});
  if (stolen) add(PartName(TimePart::kStolen), {TimePart::kStolen});
}

Tone ReportParts::tone(std::size_t column) const {
  switch (parts_[column].front()) {
    case TimePart::kRunnable:
      return Tone::kRunnable;
    case TimePart::kBlocked:
      return Tone::kBlocked;
    default:
      return Tone::kRunning;
  }
}

SampledTime ReportParts::Of(const ReportTime& time, std::size_t column) const {
  SampledTime sum;
  for (const TimePart part : parts_[column]) sum += time[part];
  return sum;
}

std::string AverageText(const ReportTime& all, std::uint64_t elapsed_ns) {
  const std::uint64_t unit = std::max<std::uint64_t>(elapsed_ns / 100, 1);
  const ReportParts parts(all);
  std::vector<std::uint64_t> ns;
  for (std::size_t i = 0; i < parts.size(); ++i) ns.push_back(parts.Of(all, i).ns);
  std::string sum;
  std::uint64_t hundredths = 0;
  const std::vector<std::uint64_t> rounded = RoundToSum(ns, unit);
  const auto text = [](std::uint64_t value) {
    return FormatDecimals(static_cast<double>(value) / 100, 2);
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    sum += (sum.empty() ? "" : " + ") + text(rounded[i]) + " " + parts.name(i);
    hundredths += rounded[i];
  }
  return sum + " = " + text(hundredths) + " threads on average";
}

std::string TitleLine(const v1::Profile& profile, const ReportViewOptions& options) {
  const std::string facts = "   " + FormatDuration(LengthNs(profile)) + ", " +
                            FormatCount(ThreadCount(profile), "thread") + ", " +
                            FormatCount(SampleCount(profile), "sample");
  const std::size_t room = options.width > facts.size() ? options.width - facts.size() : 0;
  return options.palette.Paint(Tone::kStrong, CutMiddle(SafeText(TitleOf(profile)),
                                                        std::max<std::size_t>(room, 20))) +
         facts + "\n";
}

std::string ReportHead(const v1::Profile& profile, const ReportTime& all,
                       const ReportQuestion& question, const ReportViewOptions& options) {
  std::string head = TitleLine(profile, options) + AverageText(all, LengthNs(profile)) + "\n";
  if (question.filter) head += "only: " + SafeText(question.filter->text()) + "\n";
  if (question.counters && !HasCounts(profile)) head += NoCountsText(profile) + "\n";
  return head;
}

std::string RenderReport(const v1::Profile& profile, const ReportTable& table,
                         const ReportQuestion& question, const ReportViewOptions& options) {
  const bool frames = table.key->OfFrames();
  const bool of_total = frames && question.sort == "total";
  const ReportParts parts(table.all);
  const ReportScale scale{question.unit, table.all.all().ns, LengthNs(profile),
                          question.filter.has_value()};
  std::vector<Column> columns;
  if (frames) columns.push_back({"self", Align::kRight, Shrink::kNever, Tone::kStrong});
  columns.push_back({frames ? "total" : "time", Align::kRight, Shrink::kNever,
                     frames ? Tone::kPlain : Tone::kStrong});
  for (std::size_t i = 0; i < parts.size(); ++i)
    columns.push_back({parts.name(i), Align::kRight, Shrink::kNever, parts.tone(i)});
  if (table.infers)
    columns.push_back({"with workers", Align::kRight, Shrink::kNever, Tone::kRunning});
  if (table.steps != nullptr) columns.push_back({"a step", Align::kRight});
  columns.push_back({"samples", Align::kRight});
  const bool wide = options.width >= kWideEnough;
  const bool modules = frames && wide;
  if (modules) columns.push_back({"module", Align::kLeft, Shrink::kMiddle, Tone::kFaint});
  columns.push_back({std::string(table.key->name), Align::kLeft, Shrink::kMiddle});
  Table rows(std::move(columns));
  const std::size_t shown = RowsShown(question, options, table.rows.size());
  std::vector<ReportRow> lines(table.rows.begin(),
                               table.rows.begin() + static_cast<std::ptrdiff_t>(shown));
  if (shown < table.rows.size()) lines.push_back(RestOf(table, shown));
  // Where there is little room, only what rows are sorted by has its intervals.
  SumColumn selves(scale, table, wide || !of_total);
  SumColumn totals(scale, table, wide || of_total);
  for (const ReportRow& row : lines) {
    selves.Add(row.self.all(), row.self_error);
    totals.Add(row.total.all(), row.total_error);
  }
  for (std::size_t line = 0; line < lines.size(); ++line) {
    const ReportRow& row = lines[line];
    const bool rest = line == shown;
    const ReportTime& states = of_total && !rest ? row.total : row.self;
    std::vector<std::string> cells{selves.Cell(line)};
    if (frames) cells.push_back(totals.Cell(line));
    for (std::size_t i = 0; i < parts.size(); ++i)
      cells.push_back(of_total && rest ? "" : scale.Cell(parts.Of(states, i)));
    if (table.infers) cells.push_back(scale.Inferred(row.with_workers, row.self));
    if (table.steps != nullptr) cells.push_back(StepCell(table, row));
    const std::uint64_t points = states.all().points;
    cells.push_back(points == 0 ? "" : FormatCount(points));
    if (modules) cells.push_back(row.module);
    cells.push_back(row.name);
    rows.AddRow(std::move(cells));
  }
  std::string title(table.key->plural);
  title += ", " + scale.Name();
  if (frames) title += of_total ? "; states and samples of total" : "; states and samples of self";
  if (selves.any() || (frames && totals.any())) title += "; +-: 95 %";
  return ReportHead(profile, table.all, question, options) + Coverage(profile, *table.key) +
         StepsText(table) + "\n" + options.palette.Paint(Tone::kFaint, title) + "\n" +
         rows.Render(options.width, options.palette);
}

std::string RenderCounters(const v1::Profile& profile, const ReportTable& table,
                           const ReportQuestion& question, const ReportViewOptions& options) {
  const bool frames = table.key->OfFrames();
  const auto rate_columns = [](std::vector<Column>& to) {
    to.push_back({"CPI", Align::kRight});
    to.push_back({"misses", Align::kRight});
  };
  std::vector<Column> columns{
      {frames ? "self" : "cycles", Align::kRight, Shrink::kNever, Tone::kStrong}};
  rate_columns(columns);
  if (frames) {
    columns.push_back({"total", Align::kRight, Shrink::kNever, Tone::kStrong});
    rate_columns(columns);
  }
  columns.push_back({"samples", Align::kRight});
  const bool modules = frames && options.width >= kWideEnough;
  if (modules) columns.push_back({"module", Align::kLeft, Shrink::kMiddle, Tone::kFaint});
  columns.push_back({std::string(table.key->name), Align::kLeft, Shrink::kMiddle});
  Table rows(std::move(columns));
  const auto add_counts = [&](const ReportTime& time, std::vector<std::string>& cells) {
    const Counts& counts = time.counts;
    const bool rough = RunningPoints(time) < kFewSamples;
    cells.push_back(
        counts.cycles == 0
            ? ""
            : FormatSampledShare(ShareOf(counts.cycles, table.all.counts.cycles), rough));
    for (const auto& rate : {counts.cycles_per_instruction(), counts.misses_per_thousand()})
      cells.push_back(!rate ? "" : (rough ? "~" : "") + FormatRate(rate));
  };
  const auto add = [&](const ReportRow& row, bool rest) {
    std::vector<std::string> cells;
    add_counts(row.self, cells);
    if (frames) add_counts(rest ? ReportTime{} : row.total, cells);
    const std::uint64_t points = RunningPoints(row.self);
    cells.push_back(points == 0 ? "" : FormatCount(points));
    if (modules) cells.push_back(row.module);
    cells.push_back(row.name);
    rows.AddRow(std::move(cells));
  };
  // What has not run has no counts.
  std::vector<const ReportRow*> ran;
  for (const ReportRow& row : table.rows)
    if (row.total.counts.counted_ns != 0) ran.push_back(&row);
  const std::size_t shown = RowsShown(question, options, ran.size());
  ReportRow rest;
  rest.name = MoreText(ran.size() - shown);
  for (std::size_t i = 0; i < ran.size(); ++i) {
    if (i < shown)
      add(*ran[i], false);
    else
      rest.self += ran[i]->self;
  }
  if (shown < ran.size()) add(rest, true);
  std::string head = ReportHead(profile, table.all, question, options);
  head += CountsText(table.all.counts) + "\n";
  const std::string counted = CountedTimeText(table.all.counts, table.all.running_ns());
  if (!counted.empty()) head += counted + "\n";
  const std::string title = std::string(table.key->plural) +
                            ", shares of all cycles; CPI: cycles per instruction; misses: cache "
                            "misses per 1,000 instructions";
  return head + "\n" + options.palette.Paint(Tone::kFaint, CutMiddle(title, options.width)) + "\n" +
         rows.Render(options.width, options.palette);
}

std::string RenderReport(const v1::Profile& profile, const ReportTime& all, const CrossTable& table,
                         const ReportQuestion& question, const ReportViewOptions& options) {
  const ReportScale scale{question.unit, table.all.ns, LengthNs(profile),
                          question.filter.has_value()};
  const std::size_t room = options.width > kCrossName ? options.width - kCrossName : 0;
  // One cell is the sum.
  const std::size_t most = std::max<std::size_t>(room / kCrossCell, 3) - 1;
  const CrossTable fitted = WithColumns(table, most);
  const std::size_t header_room =
      std::max(room / (fitted.columns.size() + 1), kCrossCell + 1) - kGap;
  std::vector<Column> columns{{"all", Align::kRight, Shrink::kNever, Tone::kStrong}};
  for (const std::string& name : fitted.columns)
    columns.push_back({CutMiddle(name, header_room), Align::kRight});
  columns.push_back({std::string(table.row_key->name), Align::kLeft, Shrink::kMiddle});
  Table rows(std::move(columns));
  const auto add = [&](const CrossRow& row) {
    std::vector<std::string> cells{scale.Cell(row.all)};
    for (const SampledTime& cell : row.cells) cells.push_back(scale.Cell(cell));
    cells.push_back(row.name);
    rows.AddRow(std::move(cells));
  };
  const std::size_t shown = RowsShown(question, options, fitted.rows.size());
  CrossRow rest{
      MoreText(fitted.rows.size() - shown), std::vector<SampledTime>(fitted.columns.size()), {}};
  for (std::size_t i = 0; i < fitted.rows.size(); ++i) {
    const CrossRow& row = fitted.rows[i];
    if (i < shown) {
      add(row);
      continue;
    }
    rest.all += row.all;
    for (std::size_t column = 0; column < row.cells.size(); ++column)
      rest.cells[column] += row.cells[column];
  }
  if (shown < fitted.rows.size()) add(rest);
  add({"all", fitted.sums, fitted.all});
  const bool frames = table.row_key->OfFrames() || table.column_key->OfFrames();
  const std::string title = std::string(table.row_key->plural) + " by " +
                            std::string(table.column_key->name) + ", " + scale.Name() +
                            (frames ? "; of self" : "");
  return ReportHead(profile, all, question, options) + "\n" +
         options.palette.Paint(Tone::kFaint, title) + "\n" +
         rows.Render(options.width, options.palette);
}

}  // namespace profd::client
