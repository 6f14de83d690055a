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

  [[nodiscard]] std::size_t steps() const { return borders.size() - 1; }
  [[nodiscard]] double SamplesPerStep() const {
    return static_cast<double>(samples) / static_cast<double>(steps());
  }
  // So few samples a step do not show all steps, nor how long a single one takes.
  [[nodiscard]] bool rough() const { return SamplesPerStep() < kEnoughSamples; }

  static constexpr double kEnoughSamples = 10;
};

// A function repeats when the line at which it is, in the samples of one thread, falls back. The
// loop is the outermost function that does so often enough and is on the stack for long enough;
// functions inside of it repeat, too. Of two at one depth it is
// the one that is there longer. It is looked for in the thread that runs a framework's optimizer,
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

}  // namespace profd::client
