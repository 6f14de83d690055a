// The formats of `report`: a table, CSV, JSON.
#pragma once

#include <string>
#include <vector>

#include "client/cli/output_options.h"
#include "client/commands/common/report_formats.h"
#include "client/profile/options.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// "table", "csv", "json".
[[nodiscard]] std::vector<std::string> ProfileReportFormats();
// As WaitReportOf.
[[nodiscard]] Result<Report> ProfileReportOf(const std::string& file, const std::string& format);

struct ProfileReportOptions {
  ReportLook look{};
  ExportOptions names{};
};

// The samples that the question is about. The profile must have passed CheckProfile.
[[nodiscard]] Result<v1::Profile> RestrictTo(const ReportQuestion& question, v1::Profile profile);
// Of a profile that RestrictTo has made.
[[nodiscard]] Result<std::string> RenderProfileReport(Report report, const v1::Profile& profile,
                                                      const ReportQuestion& question,
                                                      const ProfileReportOptions& options);

}  // namespace profd::client
