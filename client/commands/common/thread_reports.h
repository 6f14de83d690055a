// The formats of `threads`: tables, CSV, JSON.
#pragma once

#include <string>
#include <vector>

#include "client/cli/output_options.h"
#include "client/commands/common/report_formats.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// "table", "csv", "json".
[[nodiscard]] std::vector<std::string> ThreadFormats();
// As WaitReportOf.
[[nodiscard]] Result<Report> ThreadReportOf(const std::string& file, const std::string& format);

// The profile must have passed CheckProfile.
[[nodiscard]] std::string RenderThreadReport(Report report, const v1::Profile& profile,
                                             const ReportLook& look);

}  // namespace profd::client
