#include "client/screens/report/steps_view.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "client/profile/stack_names.h"
#include "client/profile/steps/step_events.h"
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

// What a step did more than others, by its course where it is known, and by lines. With `all` both.
std::string ExcessText(const StepTable& table, std::size_t number, bool all = true) {
  const Step& step = table.steps[number];
  const auto explains = [&](std::uint64_t ns) {
    return static_cast<double>(ns) > kLeastExcess * static_cast<double>(step.length_ns);
  };
  std::string text;
  const StepTable::CourseExcess course = table.CourseExcessOf(number);
  if (explains(course.ns))
    text = Tilde(table.courses_estimated) + "+" + FormatDuration(course.ns) + " " + course.part;
  if (!all && !text.empty()) return text;
  const StepTable::Excess excess = table.ExcessOf(number);
  if (explains(excess.ns)) {
    const StepPart& line = table.lines[excess.line];
    const bool elsewhere = line.name.starts_with('[');
    text += std::string(text.empty() ? "" : ", ") + "+" + FormatDuration(excess.ns) +
            (elsewhere ? " " : " on line ") + line.name +
            (line.calls.empty() ? "" : ", " + line.calls);
  }
  return text;
}

std::string CourseTable(const v1::Profile& profile, const StepTable& table,
                        const ReportViewOptions& options) {
  constexpr std::size_t kWideEnough = 100;  // columns; below, words make room for the numbers
  const bool wide = options.width >= kWideEnough;
  Table out({{"step", Align::kRight},
             {"begin", Align::kRight},
             {"time", Align::kRight, Shrink::kNever, Tone::kStrong},
             {"gap", Align::kRight},
             {wide ? "forward and backward" : "fwd + bwd", Align::kRight},
             {"tail", Align::kRight},
             {"data", Align::kRight},
             {wide ? "more than the median" : "more than median", Align::kLeft, Shrink::kMiddle}});
  const std::string tilde = Tilde(table.courses_estimated);
  const auto time = [&](std::uint64_t ns) { return ns == 0 ? "" : tilde + FormatDuration(ns); };
  out.AddRow({"median", "", FormatDuration(table.QuantileNs(0.5)), time(table.MedianOf(&GapOf)),
              time(table.MedianOf(&WorkOf)), time(table.MedianOf(&TailOf)),
              time(table.MedianOf(&DataOf)), ""});
  for (const std::size_t number : table.Slowest(kSlowest)) {
    const Step& step = table.steps[number];
    const StepCourse course = step.course.value_or(StepCourse{});
    const std::uint64_t since_ns = step.begin_ns - std::min(step.begin_ns, profile.start_ns());
    out.AddRow({std::to_string(number + 1), wide ? FormatDuration(since_ns) : "",
                FormatDuration(step.length_ns), time(GapOf(course)), time(course.work_ns),
                time(course.tail_ns), time(course.data_ns), ExcessText(table, number, wide)});
  }
  const std::string what =
      table.courses_estimated
          ? "the slowest steps by phases of samples; gap: until forward, data: its whole time, "
            "tail: from the optimizer on"
          : "the slowest steps; gap: until the data is there, data: the part of it that waits for "
            "data, tail: the optimizer";
  return options.palette.Paint(Tone::kFaint, what) + "\n" +
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
    out.AddRow({std::to_string(number + 1),
                FormatDuration(step.begin_ns - std::min(step.begin_ns, profile.start_ns())),
                Tilde(rough) + FormatDuration(step.length_ns),
                median_ns == 0 ? "" : FormatFactor(ShareOf(step.length_ns, median_ns)),
                ExcessText(table, number)});
  }
  return options.palette.Paint(Tone::kFaint, "the slowest steps") + "\n" +
         out.Render(options.width, options.palette);
}

std::string WhatSays(const StepLoop& loop) {
  if (!loop.exact && !loop.said_by.empty())
    return "each value of " + SafeName(loop.said_by) + ", as samples have it";
  if (!loop.exact) return "the loop in " + loop.function + ", found in samples";
  const std::string what = SafeName(loop.said_by);
  return loop.by_ends ? "from one end of " + what + " to the next, exact"
                      : "from one begin of " + what + " to the next, exact";
}

// What else could say where steps begin, or why it does not.
std::string OtherSources(const v1::Profile& profile, const StepLoop& loop) {
  if (!loop.exact) {
    const std::string why = WhyNotWatched(profile);
    return why.empty() ? "" : "not watched: " + why + "\n";
  }
  std::string names;
  for (const std::string& name : StepNamesOf(profile)) names += (names.empty() ? "" : ", ") + name;
  return "what began: " + names + "\n";
}

}  // namespace

std::string RenderSteps(const v1::Profile& profile, const StepTable& table,
                        const ReportQuestion& question, const ReportViewOptions& options) {
  const StepLoop& loop = table.loop;
  const std::string tilde = Tilde(loop.rough());
  std::string text = ReportHead(profile, TimeOf(profile), question, options) + "\n";
  text += "steps of thread " + ThreadName(profile.threads(static_cast<int>(loop.thread))) + ": " +
          WhatSays(loop) + "\n";
  text += OtherSources(profile, loop);
  text += tilde + FormatCount(table.steps.size(), "step") + ": " + tilde +
          FormatDuration(table.QuantileNs(0.5)) + " median, " + tilde +
          FormatDuration(table.QuantileNs(kTail)) + " 95th percentile, " + tilde +
          FormatDuration(table.QuantileNs(1)) + " longest; " +
          FormatDecimals(loop.SamplesPerStep(), 1) + " samples a step\n";
  if (loop.rough())
    text +=
        "so few samples a step miss steps: sums by line and phase are right, single steps are "
        "not; try a higher -F\n";
  if (!table.lines.empty()) text += "\n" + PartTable(table.lines, table, "line", options);
  if (!table.phases.empty()) text += "\n" + PartTable(table.phases, table, "phase", options);
  return text + "\n" +
         (table.has_courses() ? CourseTable(profile, table, options)
                              : SlowestTable(profile, table, options));
}

ReportSheet SheetOf(const StepTable& table, const v1::Profile& profile) {
  ReportSheet sheet;
  sheet.total_ns = table.all.all().ns;
  sheet.columns = {"step", "begin_ns", "ns", "reach_ns"};
  const bool courses = table.has_courses();
  if (courses)
    for (const char* part : {"gap_ns", "forward_backward_ns", "tail_ns", "data_ns"})
      sheet.columns.emplace_back(part);
  if (table.courses_estimated && courses) sheet.columns.emplace_back("course_reach_ns");
  for (const StepPart& phase : table.phases) sheet.columns.push_back(phase.name + " ns");
  for (const StepPart& line : table.lines) sheet.columns.push_back("line " + line.name + " ns");
  for (std::size_t i = 0; i < table.steps.size(); ++i) {
    const Step& step = table.steps[i];
    auto& cells = sheet.rows.emplace_back();
    cells.emplace_back(std::uint64_t{i} + 1);
    cells.emplace_back(step.begin_ns - std::min(step.begin_ns, profile.start_ns()));
    cells.emplace_back(step.length_ns);
    cells.emplace_back(step.reach_ns);
    if (courses) {
      const StepCourse course = step.course.value_or(StepCourse{});
      for (const std::uint64_t ns : {GapOf(course), course.work_ns, course.tail_ns, course.data_ns})
        cells.emplace_back(ns);
      if (table.courses_estimated) cells.emplace_back(course.reach_ns);
    }
    for (const std::uint64_t ns : step.phase_ns) cells.emplace_back(ns);
    for (const std::uint64_t ns : step.line_ns) cells.emplace_back(ns);
  }
  return sheet;
}

}  // namespace profd::client
