// Summary: a profile as text for a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "client/text/palette.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

struct SummaryOptions {
  std::size_t width = 80;  // columns
  Palette palette;
  bool complete = false;  // all threads and more paths, and the counters
  std::string footer;     // a line on what to do next; may be empty
};

// Header (what, how long, samples, loss, closure, cost), a row a thread, who holds the GIL where
// there is one, and the heaviest call paths of the busiest threads. The profile must have passed
// CheckProfile.
[[nodiscard]] std::string RenderSummary(const v1::Profile& profile, const SummaryOptions& options);

// "python3 train.py (4242)" for a profile of one process, else the target: "all".
[[nodiscard]] std::string ProfileTitle(const v1::Profile& profile);
// What it rests on: "3,214 samples, 0 lost, closure 0.00 %".
[[nodiscard]] std::string BasisText(const v1::Profile& profile);
// "cost 0.6 % of one CPU".
[[nodiscard]] std::string CostText(const v1::Profile& profile);

}  // namespace profd::client
