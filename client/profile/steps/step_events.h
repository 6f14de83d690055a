// Steps by what the program itself says: exact borders, in the place of a loop found in samples.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/profile/steps/program_steps.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// PyTorch's optimizers end steps: a step lasts from the end of one call to that of the next one.
// Where a file lacks the symbol of the ends, and for functions and static probes, a step lasts from
// one begin to the next. Of several threads and names the one counts that began most often.
// Nothing: the profile has no step events. kNotFound: it has, but none fit the choice; the hint
// lists what there is. The profile has passed CheckProfile.
[[nodiscard]] Result<std::optional<ProgramSteps>> FindSaidSteps(const v1::Profile& profile,
                                                                const StepChoice& choice);

// The names of step events, the most frequent first, with how often they began: safe to print.
[[nodiscard]] std::vector<std::string> StepNamesOf(const v1::Profile& profile);
// Why PyTorch's own steps, or those that were named, were not watched; "": they were.
[[nodiscard]] std::string WhyNotWatched(const v1::Profile& profile);

}  // namespace profd::client
