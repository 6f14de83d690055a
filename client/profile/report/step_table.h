// StepTable: where the time of steps goes, on average and in each of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/profile/report/report_time.h"
#include "client/profile/steps/program_steps.h"
#include "client/profile/steps/step_loop.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// A line of the loop, or a phase of the work.
struct StepPart {
  std::string name;   // "24", "[elsewhere]": not in the function; "backward", "[no phase]"; safe
  std::string calls;  // of a line: what it calls most of the time; "": nothing
  ReportTime time;    // in all whole steps
};

// The parts of one step in order of time: exact where the program says them itself, else by the
// phases of its samples.
struct StepCourse {
  std::uint64_t data_ns = 0;  // it waits for data
  // From the end of the optimizer until the data is there; without a wait for data nothing.
  std::optional<std::uint64_t> gap_ns;
  // From there to the optimizer: forward and backward.
  std::uint64_t work_ns = 0;
  std::uint64_t tail_ns = 0;   // the optimizer
  std::uint64_t reach_ns = 0;  // so far off each border may be; 0: exact
};

struct Step {
  std::uint64_t begin_ns = 0;
  std::uint64_t length_ns = 0;  // by its borders
  std::uint64_t reach_ns = 0;   // so far off it may be
  // By line and by phase, as in StepTable. They add up to the samples of the step, whose sum is its
  // length only on average.
  std::vector<std::uint64_t> line_ns;
  std::vector<std::uint64_t> phase_ns;
  std::optional<StepCourse> course{};  // where StepTable.has_courses
};

struct StepTable {
  StepLoop loop;
  std::vector<Step> steps;       // in order of time
  std::vector<StepPart> lines;   // in their order in the file; those elsewhere last
  std::vector<StepPart> phases;  // in the order of a step; empty: no phase is known
  ReportTime all;
  bool courses_estimated = false;  // by samples

  [[nodiscard]] std::uint64_t MeanNs() const;
  // Of the lengths: half of the steps, or 95 of 100, take no longer.
  [[nodiscard]] std::uint64_t QuantileNs(double share) const;
  // The steps that took longest, the longest first.
  [[nodiscard]] std::vector<std::size_t> Slowest(std::size_t most) const;
  // The line on which a step spent most more than steps on average, and by how much.
  struct Excess {
    std::size_t line = 0;
    std::uint64_t ns = 0;  // 0: none
  };
  [[nodiscard]] Excess ExcessOf(std::size_t step) const;
  // The part of its course on which a step spent most more than the median, and by how much.
  struct CourseExcess {
    const char* part = "";  // "forward and backward"
    std::uint64_t ns = 0;   // 0: none
  };
  [[nodiscard]] CourseExcess CourseExcessOf(std::size_t step) const;
  // Of one part of the courses.
  using CoursePart = std::uint64_t (*)(const StepCourse& course);
  [[nodiscard]] std::uint64_t MedianOf(CoursePart part) const;
  // Exact steps whose ends are known have them, and others with ten samples a step or more, some of
  // them forward or backward: those in which there is one.
  [[nodiscard]] bool has_courses() const {
    return std::ranges::any_of(steps, [](const Step& step) { return step.course.has_value(); });
  }
};

// The parts of a course; waiting for data is a part of the gap, and so shown by itself.
inline std::uint64_t GapOf(const StepCourse& course) { return course.gap_ns.value_or(0); }
inline std::uint64_t WorkOf(const StepCourse& course) { return course.work_ns; }
inline std::uint64_t TailOf(const StepCourse& course) { return course.tail_ns; }
inline std::uint64_t DataOf(const StepCourse& course) { return course.data_ns; }

// The time is that of the thread with the steps. The profile has passed CheckProfile.
[[nodiscard]] StepTable StepsOf(const ProgramSteps& steps, const v1::Profile& profile);

}  // namespace profd::client
