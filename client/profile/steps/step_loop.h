// StepLoop: the loop of a Python program whose turns are steps, found in samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// An instant at which a step began: within `reach_ns` of `time_ns`, as samples lie there.
struct StepBorder {
  std::uint64_t time_ns = 0;
  std::uint64_t reach_ns = 0;
};

struct StepLoop {
  std::uint32_t thread = 0;  // index into Profile.threads
  std::string function;      // "train (train.py)"; safe
  std::string name;          // of the function alone, as the profile has it
  std::string file;          // the same
  // Borders of whole steps, ascending: one more than steps.
  std::vector<StepBorder> borders;
  std::uint64_t samples = 0;  // sampling points of the thread in these steps
  // The program itself says where steps are: borders are exact. The function is one found in
  // samples of the same thread; "": there is none.
  bool exact = false;
  bool by_ends = false;   // borders are ends of `said_by`, not begins
  std::string said_by{};  // as the program has it: "Optimizer.step#Adam.step", "label:step"

  [[nodiscard]] std::size_t steps() const { return borders.size() - 1; }
  [[nodiscard]] double SamplesPerStep() const {
    return static_cast<double>(samples) / static_cast<double>(steps());
  }
  // So few samples a step do not show all steps, nor how long a single one takes.
  // The step in which an instant lies, from 1 on; 0: before the first whole one or after the last.
  [[nodiscard]] std::uint32_t StepAt(std::uint64_t time_ns) const;
  [[nodiscard]] bool rough() const { return !exact && SamplesPerStep() < kEnoughSamples; }

  static constexpr double kEnoughSamples = 10;
};

// A function repeats when the line at which it is, in the samples of one thread, falls back. The
// loop is the outermost function that does so often enough and is on the stack for long enough;
// functions inside of it repeat, too. Of two at one depth it is the one that is there longer. It is
// looked for in the thread that runs a framework's optimizer,
// else in main threads, else in all.
//
// `function`: take this one instead, a name with or without the file behind it.
//
// It does not see a loop whose body is one line without a Python function that repeats inside of
// it. A call written over several lines may fall back, too, and be taken for a step.
//
// The profile has passed CheckProfile. kUnsupported: it has no times of samples. kNotFound: no
// loop.
[[nodiscard]] Result<StepLoop> FindStepLoop(const v1::Profile& profile, std::string_view function);

// kUnsupported: the profile has no times of samples, and so no steps.
[[nodiscard]] Result<void> CheckHasSteps(const v1::Profile& profile);
// The instant of the last sampling point of a sample, at the earliest: off the CPU a sample stands
// for an interval.
[[nodiscard]] std::uint64_t LastPointNs(const v1::Profile& profile, int sample);
// "train (train.py)", or what said it where no function is known. Safe.
[[nodiscard]] std::string SourceName(const StepLoop& loop);
// Sets StepLoop.samples.
void CountSamples(const v1::Profile& profile, StepLoop& loop);

}  // namespace profd::client
