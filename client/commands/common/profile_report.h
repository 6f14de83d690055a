// The formats of `report`: a table, CSV, JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/output_options.h"
#include "client/commands/common/report_formats.h"
#include "client/profile/options.h"
#include "client/profile/share_error.h"
#include "client/profile/steps/program_steps.h"
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
  const ProgramSteps* steps = nullptr;  // as ReportSubject has them: these two
  const ErrorRates* errors = nullptr;
};

// What the question is about.
struct ReportSubject {
  v1::Profile profile;  // the samples that fit
  // Of all samples: steps where the question needs them, or has them beside operators; rates where
  // it has a filter.
  std::optional<ProgramSteps> steps;
  std::optional<ErrorRates> errors;
};

// The profile must have passed CheckProfile.
[[nodiscard]] Result<ReportSubject> RestrictTo(const ReportQuestion& question, v1::Profile profile);
// Of a profile that RestrictTo has made.
[[nodiscard]] Result<std::string> RenderProfileReport(Report report, const v1::Profile& profile,
                                                      const ReportQuestion& question,
                                                      const ProfileReportOptions& options);

}  // namespace profd::client
