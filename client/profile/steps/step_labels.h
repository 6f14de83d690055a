// Steps by a label that a thread publishes: each value of it is one.
#pragma once

#include <string_view>

#include "client/profile/steps/step_loop.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// A step lasts from where a thread has a new value of the label to where it has the next one; what
// it does without a value belongs to the step before. It is the thread with most samples that have
// the label. Borders are as exact as samples lie. kUnsupported: the profile has no times of
// samples. kNotFound: the label has not changed often enough; the hint names those that there are.
// The profile has passed CheckProfile.
[[nodiscard]] Result<StepLoop> FindLabelSteps(const v1::Profile& profile, std::string_view label);

}  // namespace profd::client
