// The formats of `threads`: tables, CSV, JSON.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "client/cli/output_options.h"
#include "client/text/palette.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// "table", "csv", "json".
[[nodiscard]] std::vector<std::string> ThreadFormats();
// As WaitReportOf.
[[nodiscard]] Result<Report> ThreadReportOf(const std::string& file, const std::string& format);

struct ThreadReportOptions {
  std::size_t width = 80;  // of tables
  Palette palette{};
  bool complete = false;
};

// The profile must have passed CheckProfile.
[[nodiscard]] std::string RenderThreadReport(Report report, const v1::Profile& profile,
                                             const ThreadReportOptions& options);

}  // namespace profd::client
