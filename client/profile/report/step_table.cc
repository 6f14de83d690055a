#include "client/profile/report/step_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "client/profile/operators/operators.h"
#include "client/profile/stack_names.h"

namespace profd::client {
namespace {

constexpr const char* kElsewhere = "[elsewhere]";
constexpr const char* kNoPhase = "[no phase]";
constexpr std::uint32_t kNoLine = UINT32_MAX;  // sorts behind all lines
// What a step does first stands first.
constexpr std::array kPhases{v1::PHASE_DATA,          v1::PHASE_FORWARD,   v1::PHASE_BACKWARD,
                             v1::PHASE_COMMUNICATION, v1::PHASE_OPTIMIZER, v1::PHASE_OTHER,
                             v1::PHASE_NONE};

// Where a stack is in the loop's function: the line of its outermost frame, and the frame that this
// calls, as an index.
struct Place {
  std::uint32_t line = kNoLine;
  std::optional<std::uint32_t> callee;
};

Place PlaceOf(const StepLoop& loop, const v1::Profile& profile, std::uint32_t node) {
  Place place;
  std::optional<std::uint32_t> inner;
  for (std::uint32_t at = node; at != 0;) {
    const v1::StackNode& one = profile.nodes(static_cast<int>(at) - 1);
    const v1::Frame& frame = profile.frames(static_cast<int>(one.frame()));
    if (frame.kind() == v1::FRAME_PYTHON && frame.name() == loop.name && frame.file() == loop.file)
      place = {frame.line(), inner};
    inner = one.frame();
    at = one.parent();
  }
  return place;
}

// Sums by line and by phase, as they grow.
class Sums {
 public:
  Sums(const StepLoop& loop, const v1::Profile& profile)
      : loop_(loop), profile_(profile), operators_(profile) {}

  void Add(int sample, std::size_t step) {
    const v1::Samples& samples = profile_.samples();
    const std::uint64_t ns = samples.weight_ns(sample);
    const Place place = PlaceOf(loop_, profile_, samples.node(sample));
    const v1::Phase phase = operators_.PhaseAt(samples.node(sample));
    any_phase_ = any_phase_ || phase != v1::PHASE_NONE;
    lines_[place.line].Add(profile_, sample);
    if (place.callee) callees_[place.line][*place.callee] += ns;
    phases_[phase].Add(profile_, sample);
    cells_.push_back({step, place.line, phase, ns});
  }

  void Into(StepTable& table) const {
    std::map<std::uint32_t, std::size_t> line_at;
    for (const auto& [line, time] : lines_) {
      line_at[line] = table.lines.size();
      table.lines.push_back(
          {line == kNoLine ? kElsewhere : std::to_string(line), CalleeOf(line), time});
    }
    std::map<v1::Phase, std::size_t> phase_at;
    for (const v1::Phase phase : kPhases) {
      const auto time = phases_.find(phase);
      if (!any_phase_ || time == phases_.end()) continue;
      phase_at[phase] = table.phases.size();
      const std::string name(PhaseName(phase));
      table.phases.push_back({name.empty() ? kNoPhase : name, "", time->second});
    }
    for (Step& step : table.steps) {
      step.line_ns.resize(table.lines.size());
      step.phase_ns.resize(table.phases.size());
    }
    for (const Cell& cell : cells_) {
      table.steps[cell.step].line_ns[line_at[cell.line]] += cell.ns;
      if (any_phase_) table.steps[cell.step].phase_ns[phase_at[cell.phase]] += cell.ns;
    }
  }

 private:
  struct Cell {
    std::size_t step;
    std::uint32_t line;
    v1::Phase phase;
    std::uint64_t ns;
  };

  // What is there most of the time. Functions on several lines are one.
  [[nodiscard]] std::string CalleeOf(std::uint32_t line) const {
    const auto callees = callees_.find(line);
    if (callees == callees_.end()) return {};
    std::map<std::string, std::uint64_t> by_name;
    for (const auto& [frame, ns] : callees->second)
      by_name[FrameName(profile_.frames(static_cast<int>(frame)), {.line = false})] += ns;
    return std::ranges::max_element(by_name, {}, [](const auto& one) { return one.second; })->first;
  }

  const StepLoop& loop_;
  const v1::Profile& profile_;
  const Operators operators_;
  bool any_phase_ = false;
  std::map<std::uint32_t, ReportTime> lines_;
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint64_t>> callees_;  // ns by frame
  std::map<v1::Phase, ReportTime> phases_;
  std::vector<Cell> cells_;
};

void AddCourses(const ProgramSteps& program, StepTable& table) {
  auto data = program.data.begin();
  for (std::size_t i = 0; i < program.optimizer.size() && i < table.steps.size(); ++i) {
    Step& step = table.steps[i];
    const StepCall& optimizer = program.optimizer[i];
    const std::uint64_t update_ns = std::max(optimizer.begin_ns, step.begin_ns);
    StepCourse course{.gap_ns = std::nullopt, .tail_ns = optimizer.end_ns - update_ns};
    std::uint64_t work_from_ns = step.begin_ns;
    while (data != program.data.end() && data->end_ns <= step.begin_ns) ++data;
    for (; data != program.data.end() && data->end_ns <= update_ns; ++data) {
      // One that began in the step before has its begin cut off.
      course.data_ns += data->end_ns - std::max(data->begin_ns, step.begin_ns);
      work_from_ns = data->end_ns;
      course.gap_ns = data->end_ns - step.begin_ns;
    }
    course.work_ns = update_ns - work_from_ns;
    step.course = course;
  }
}

// The instant between two samples at which something ended and something else began.
StepBorder Between(std::uint64_t last_ns, std::uint64_t next_ns) {
  const std::uint64_t reach_ns = (next_ns - std::min(last_ns, next_ns)) / 2;
  return {next_ns - reach_ns, next_ns - reach_ns - std::min(last_ns, next_ns)};
}

// The course of a step by the phases of its samples, which come in order of time.
class SampledCourse {
 public:
  explicit SampledCourse(const Step& step) : step_(step), last_ns_(step.begin_ns) {}

  void Add(const v1::Profile& profile, int sample, v1::Phase phase) {
    const std::uint64_t at_ns = profile.samples().time_ns(sample);
    const StepBorder begin = Between(last_ns_, at_ns);
    const bool works = phase == v1::PHASE_FORWARD || phase == v1::PHASE_BACKWARD ||
                       phase == v1::PHASE_COMMUNICATION;
    if (after_optimizer_ && !work_) gap_from_ = begin;
    after_optimizer_ = phase == v1::PHASE_OPTIMIZER;
    if (works && !work_) work_ = begin;
    if (after_optimizer_ && work_ && !tail_) tail_ = begin;
    if (phase == v1::PHASE_DATA) data_ns_ += profile.samples().weight_ns(sample);
    last_ns_ = std::max(last_ns_, LastPointNs(profile, sample));
  }

  [[nodiscard]] std::optional<StepCourse> Made() const {
    if (!work_) return std::nullopt;
    const std::uint64_t end_ns = step_.begin_ns + step_.length_ns;
    // Of a step that begins inside of an optimizer, that is a part of the tail.
    const StepBorder gap = gap_from_.value_or(StepBorder{step_.begin_ns, 0});
    const StepBorder tail = tail_.value_or(StepBorder{end_ns, 0});
    StepCourse course;
    course.data_ns = data_ns_;
    course.gap_ns = work_->time_ns - gap.time_ns;
    course.work_ns = tail.time_ns - work_->time_ns;
    course.tail_ns = step_.length_ns - *course.gap_ns - course.work_ns;
    course.reach_ns =
        std::max({gap.reach_ns, work_->reach_ns, tail.reach_ns, step_.reach_ns, std::uint64_t{1}});
    return course;
  }

 private:
  const Step& step_;
  std::uint64_t last_ns_;
  std::uint64_t data_ns_ = 0;
  bool after_optimizer_ = false;
  std::optional<StepBorder> gap_from_;  // the end of the optimizer with which the step begins
  std::optional<StepBorder> work_;      // the begin of forward, or of what comes in its place
  std::optional<StepBorder> tail_;      // the begin of the optimizer behind that
};

// Where the program does not say the parts of its steps.
void AddSampledCourses(const v1::Profile& profile, StepTable& table) {
  if (table.loop.SamplesPerStep() < StepLoop::kEnoughSamples) return;
  const Operators operators(profile);
  std::vector<SampledCourse> courses;
  courses.reserve(table.steps.size());
  for (const Step& step : table.steps) courses.emplace_back(step);
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.node_size(); ++i) {
    if (samples.thread(i) != table.loop.thread) continue;
    if (const std::uint32_t step = table.loop.StepAt(samples.time_ns(i)); step != 0)
      courses[step - 1].Add(profile, i, operators.PhaseAt(samples.node(i)));
  }
  for (std::size_t i = 0; i < courses.size(); ++i) table.steps[i].course = courses[i].Made();
  table.courses_estimated = true;
}

}  // namespace

std::uint64_t StepTable::MeanNs() const {
  return (loop.borders.back().time_ns - loop.borders.front().time_ns) / steps.size();
}

std::uint64_t StepTable::QuantileNs(double share) const {
  std::vector<std::uint64_t> lengths;
  lengths.reserve(steps.size());
  for (const Step& step : steps) lengths.push_back(step.length_ns);
  const auto rank =
      static_cast<std::ptrdiff_t>(std::ceil(share * static_cast<double>(lengths.size())) - 1);
  const auto at = lengths.begin() + std::max<std::ptrdiff_t>(rank, 0);
  std::ranges::nth_element(lengths, at);
  return *at;
}

std::vector<std::size_t> StepTable::Slowest(std::size_t most) const {
  std::vector<std::size_t> order(steps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [this](std::size_t step) { return steps[step].length_ns; });
  order.resize(std::min(most, order.size()));
  return order;
}

StepTable::Excess StepTable::ExcessOf(std::size_t step) const {
  Excess excess;
  for (std::size_t line = 0; line < lines.size(); ++line) {
    const std::uint64_t mean_ns = lines[line].time.all().ns / steps.size();
    const std::uint64_t ns = steps[step].line_ns[line];
    if (ns > mean_ns && ns - mean_ns > excess.ns) excess = {line, ns - mean_ns};
  }
  return excess;
}

std::uint64_t StepTable::MedianOf(CoursePart part) const {
  std::vector<std::uint64_t> times;
  for (const Step& step : steps)
    if (step.course) times.push_back(part(*step.course));
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

StepTable::CourseExcess StepTable::CourseExcessOf(std::size_t step) const {
  struct Named {
    const char* name;
    CoursePart part;
  };
  // What waits for data is in the gap, too: the first that explains it counts.
  constexpr std::array kCourseParts{Named{"waiting for data", &DataOf}, Named{"gap", &GapOf},
                                    Named{"forward and backward", &WorkOf}, Named{"tail", &TailOf}};
  CourseExcess excess;
  if (!steps[step].course) return excess;
  for (const Named& one : kCourseParts) {
    const std::uint64_t median_ns = MedianOf(one.part);
    const std::uint64_t ns = one.part(*steps[step].course);
    if (ns <= median_ns || ns - median_ns <= excess.ns) continue;
    // A gap that is longer by no more than the wait in it.
    const bool same =
        one.part == &GapOf && excess.ns != 0 && ns - median_ns - excess.ns < excess.ns / 2;
    if (!same) excess = {one.name, ns - median_ns};
  }
  return excess;
}

StepTable StepsOf(const ProgramSteps& program, const v1::Profile& profile) {
  StepTable table;
  table.loop = program.loop;
  const std::vector<StepBorder>& borders = table.loop.borders;
  for (std::size_t i = 0; i + 1 < borders.size(); ++i)
    table.steps.push_back({.begin_ns = borders[i].time_ns,
                           .length_ns = borders[i + 1].time_ns - borders[i].time_ns,
                           .reach_ns = borders[i].reach_ns + borders[i + 1].reach_ns,
                           .line_ns = {},
                           .phase_ns = {}});
  const v1::Samples& samples = profile.samples();
  Sums sums(table.loop, profile);
  for (int i = 0; i < samples.node_size(); ++i) {
    if (samples.thread(i) != table.loop.thread) continue;
    const std::uint32_t step = table.loop.StepAt(samples.time_ns(i));
    if (step == 0) continue;
    sums.Add(i, step - 1);
    table.all.Add(profile, i);
  }
  sums.Into(table);
  if (table.loop.name.empty()) {
    table.lines.clear();
    for (Step& step : table.steps) step.line_ns.clear();
  }
  if (program.optimizer.empty())
    AddSampledCourses(profile, table);
  else
    AddCourses(program, table);
  return table;
}

}  // namespace profd::client
