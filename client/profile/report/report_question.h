// ReportQuestion: what a report is to show of a profile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "client/profile/report/report_keys.h"
#include "client/profile/report/sample_filter.h"
#include "client/profile/steps/program_steps.h"

namespace profd::client {

enum class ReportUnit {
  kShare,   // of all thread time
  kTime,    // seconds
  kThreads  // threads on average: time by elapsed time
};

struct ReportQuestion {
  std::vector<ReportKeyRef> keys;  // one or two; of tables
  // Trees in the place of a table: both sides of functions, empty for none, and the whole program.
  std::string callers;
  std::string callees;
  bool tree = false;
  bool timeline = false;
  std::optional<std::size_t> depth;  // levels of trees
  double least_share = 0.01;         // of lines of trees
  std::string annotate;              // a file or function in the place of a table; empty: none
  bool steps = false;                // of a training loop, in the place of a table
  bool exact = false;                // calls that the program names, in the place of a table
  StepChoice step_choice;            // of steps, of the key `step` and of a filter by it
  std::optional<SampleFilter> filter;
  std::string sort;  // as SortRows takes it
  ReportUnit unit = ReportUnit::kShare;
  std::optional<std::size_t> limit;  // rows; none: what fits the form
  bool kernel = false;               // functions of the kernel have rows of their own
  bool counters = false;             // tables are of what hardware counters have counted

  [[nodiscard]] bool NeedsSteps() const {
    return steps || (filter && filter->NeedsSteps()) ||
           std::ranges::any_of(keys, [](const ReportKeyRef& key) { return key->by_steps; });
  }
  // By operator or phase: what they take in a step, where there are any.
  [[nodiscard]] bool ShowsStepsIfAny() const {
    return keys.size() == 1 && keys.front()->by_operators && !counters;
  }
};

}  // namespace profd::client
