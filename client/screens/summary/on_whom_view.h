// On whom threads wait, as a block of the summary.
#pragma once

#include <string>

#include "client/screens/summary/summary.h"
#include "client/screens/summary/thread_rows.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// "waits of WHO (8 threads, 41.2 s blocked): on whom", and a line for each way in which they end,
// heaviest first; what is not known, by cause, is the last line. The lines add up to the blocked
// time. Empty where the profile does not know who ends waits, and for a row that hardly waits. The
// profile must have passed CheckProfile.
[[nodiscard]] std::string RenderOnWhom(const v1::Profile& profile, const ThreadRow& row,
                                       const std::string& who, const SummaryOptions& options);

}  // namespace profd::client
