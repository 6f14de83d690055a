#include "client/screens/report/steps_view.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "client/profile/stack_names.h"
#include "client/text/number.h"
#include "client/text/table.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::size_t kSlowest = 5;
constexpr double kTail = 0.95;
// An excess that is less of the step's own does not explain why it is slow.
constexpr double kLeastExcess = 0.1;

std::string Tilde(bool rough) { return rough ? "~" : ""; }

// The average of one step: a time in all steps, divided by their number.
std::string PerStep(const SampledTime& time, std::size_t steps) {
  if (time.ns == 0) return "";
  return Tilde(time.rough()) + FormatDuration(time.ns / steps);
}

std::string PartTable(const std::vector<StepPart>& rows, const StepTable& table,
                      const std::string& what, const ReportViewOptions& options) {
  const ReportParts parts(table.all);
  std::vector<Column> columns{{"time", Align::kRight, Shrink::kNever, Tone::kStrong},
                              {"share", Align::kRight}};
  for (std::size_t i = 0; i < parts.size(); ++i)
    columns.push_back({parts.name(i), Align::kRight, Shrink::kNever, parts.tone(i)});
  columns.push_back({what, Align::kRight});
  columns.push_back({"mostly in", Align::kLeft, Shrink::kMiddle});
  Table out(std::move(columns));
  for (const StepPart& row : rows) {
    const SampledTime all = row.time.all();
    std::vector<std::string> cells{
        PerStep(all, table.steps.size()),
        FormatSampledShare(ShareOf(all.ns, table.all.all().ns), all.rough())};
    for (std::size_t i = 0; i < parts.size(); ++i)
      cells.push_back(PerStep(parts.Of(row.time, i), table.steps.size()));
    cells.push_back(row.name);
    cells.push_back(row.calls);
    out.AddRow(std::move(cells));
  }
  return options.palette.Paint(Tone::kFaint, "a step on average, by " + what) + "\n" +
         out.Render(options.width, options.palette);
}

std::string SlowestTable(const v1::Profile& profile, const StepTable& table,
                         const ReportViewOptions& options) {
  const bool rough = table.loop.rough();
  Table out({{"step", Align::kRight},
             {"begin", Align::kRight},
             {"time", Align::kRight, Shrink::kNever, Tone::kStrong},
             {"times the median", Align::kRight},
             {"more than on average", Align::kLeft, Shrink::kMiddle}});
  const std::uint64_t median_ns = table.QuantileNs(0.5);
  for (const std::size_t number : table.Slowest(kSlowest)) {
    const Step& step = table.steps[number];
    const StepTable::Excess excess = table.ExcessOf(number);
    std::string more;
    if (static_cast<double>(excess.ns) > kLeastExcess * static_cast<double>(step.length_ns)) {
      const StepPart& line = table.lines[excess.line];
      const bool elsewhere = line.name.starts_with('[');
      more = "+" + FormatDuration(excess.ns) + (elsewhere ? " " : " on line ") + line.name +
             (line.calls.empty() ? "" : ", " + line.calls);
    }
    out.AddRow({std::to_string(number + 1),
                FormatDuration(step.begin_ns - std::min(step.begin_ns, profile.start_ns())),
                Tilde(rough) + FormatDuration(step.length_ns),
                median_ns == 0 ? "" : FormatFactor(ShareOf(step.length_ns, median_ns)), more});
  }
  return options.palette.Paint(Tone::kFaint, "the slowest steps") + "\n" +
         out.Render(options.width, options.palette);
}

}  // namespace

std::string RenderSteps(const v1::Profile& profile, const StepTable& table,
                        const ReportQuestion& question, const ReportViewOptions& options) {
  const StepLoop& loop = table.loop;
  const std::string tilde = Tilde(loop.rough());
  std::string text = ReportHead(profile, TimeOf(profile), question, options) + "\n";
  text += "steps of thread " + ThreadName(profile.threads(static_cast<int>(loop.thread))) +
          ": the loop in " + loop.function + ", found in samples\n";
  text += tilde + FormatCount(table.steps.size(), "step") + ": " + tilde +
          FormatDuration(table.QuantileNs(0.5)) + " median, " + tilde +
          FormatDuration(table.QuantileNs(kTail)) + " 95th percentile, " + tilde +
          FormatDuration(table.QuantileNs(1)) + " longest; " +
          FormatDecimals(loop.SamplesPerStep(), 1) + " samples a step\n";
  if (loop.rough())
    text +=
        "so few samples a step miss steps: sums by line and phase are right, single steps are "
        "not; try a higher -F\n";
  text += "\n" + PartTable(table.lines, table, "line", options);
  if (!table.phases.empty()) text += "\n" + PartTable(table.phases, table, "phase", options);
  return text + "\n" + SlowestTable(profile, table, options);
}

ReportSheet SheetOf(const StepTable& table, const v1::Profile& profile) {
  ReportSheet sheet;
  sheet.total_ns = table.all.all().ns;
  sheet.columns = {"step", "begin_ns", "ns", "reach_ns"};
  for (const StepPart& phase : table.phases) sheet.columns.push_back(phase.name + " ns");
  for (const StepPart& line : table.lines) sheet.columns.push_back("line " + line.name + " ns");
  for (std::size_t i = 0; i < table.steps.size(); ++i) {
    const Step& step = table.steps[i];
    auto& cells = sheet.rows.emplace_back();
    cells.emplace_back(std::uint64_t{i} + 1);
    cells.emplace_back(step.begin_ns - std::min(step.begin_ns, profile.start_ns()));
    cells.emplace_back(step.length_ns);
    cells.emplace_back(step.reach_ns);
    for (const std::uint64_t ns : step.phase_ns) cells.emplace_back(ns);
    for (const std::uint64_t ns : step.line_ns) cells.emplace_back(ns);
  }
  return sheet;
}

}  // namespace profd::client
