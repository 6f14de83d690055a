// Calls that a program names, as a table for people and as a sheet for programs.
#pragma once

#include <string>
#include <vector>

#include "client/profile/report/report_question.h"
#include "client/profile/steps/named_calls.h"
#include "client/screens/report/report_sheet.h"
#include "client/screens/report/report_view.h"

namespace profd::client {

[[nodiscard]] std::string RenderCalls(const v1::Profile& profile,
                                      const std::vector<NamedCalls>& calls,
                                      const ReportQuestion& question,
                                      const ReportViewOptions& options);

// A row a name.
[[nodiscard]] ReportSheet SheetOf(const std::vector<NamedCalls>& calls);

}  // namespace profd::client
