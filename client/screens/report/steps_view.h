// The steps of a training loop, as tables for people and as a sheet for programs.
#pragma once

#include <string>

#include "client/profile/report/report_question.h"
#include "client/profile/report/step_table.h"
#include "client/screens/report/report_sheet.h"
#include "client/screens/report/report_view.h"

namespace profd::client {

// Which loop it is and how long its steps take; the lines and phases of a step on average; the
// slowest steps, and what they did more than the others.
[[nodiscard]] std::string RenderSteps(const v1::Profile& profile, const StepTable& table,
                                      const ReportQuestion& question,
                                      const ReportViewOptions& options);

// A row a step: number, begin since the start of the profile, length, how far off that may be, time
// by phase and by line.
[[nodiscard]] ReportSheet SheetOf(const StepTable& table, const v1::Profile& profile);

}  // namespace profd::client
