// ProgramSteps: the steps of a program, from the best source that its profile has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/profile/steps/step_loop.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// Where steps come from, as --step, --step-name and --loop have it. Empty: whatever is best.
struct StepChoice {
  // "loop": samples; "label:NAME": what threads publish; or the text of what was watched:
  // "uprobe:libfoo.so:work"
  std::string source;
  std::string name;  // of what begins: "Optimizer.step#Adam.step", or its part before the #
  std::string loop;  // the function with the loop, in samples

  [[nodiscard]] bool IsNamed() const { return !source.empty() || !name.empty() || !loop.empty(); }
};

// A part of one step that the program has named, or waited in.
struct StepCall {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

struct ProgramSteps {
  StepLoop loop;
  // Of exact steps whose ends are known; else empty.
  std::vector<StepCall> optimizer;  // the call that ends each step
  std::vector<StepCall> data;       // waits for data, in order of time
};

// What the program itself says of its steps by its calls, else by a label `step` of its threads,
// else a loop that is found in samples. Exact steps and those of labels have the function of the
// loop of the same thread. An error says what there is in the place of what was chosen. The profile
// has passed CheckProfile.
[[nodiscard]] Result<ProgramSteps> FindProgramSteps(const v1::Profile& profile,
                                                    const StepChoice& choice);

}  // namespace profd::client
