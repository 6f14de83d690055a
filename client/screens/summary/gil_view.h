// Who holds the GIL of Python processes and who waits for it, as a table for each.
#pragma once

#include <string>

#include "client/screens/summary/summary.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// Blocks with an empty line before each: a line and a row a thread for each process with an
// interpreter, most held and waited for first; a line for each that is not understood, and why.
// If no thread waited and one held it, one line for all processes of a program, unless the
// summary is to be complete.
// Empty where no interpreter is known of. The times are those of samples: shares that rest on few
// of them are marked. The profile must have passed CheckProfile.
[[nodiscard]] std::string RenderGil(const v1::Profile& profile, const SummaryOptions& options);

}  // namespace profd::client
