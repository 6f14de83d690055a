// The formats of `waits`: a table, JSON, a graph in the language of Graphviz and its picture.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/cli/output_options.h"
#include "client/commands/common/report_formats.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// "table", "dot", "svg", "json".
[[nodiscard]] std::vector<std::string> WaitFormats();

// By the file name, or by `format` where that says nothing ("-", no known extension); "" is a
// table. kInvalidArgument: there is no such format, or the extension is not known and none is
// named. kNotFound: the picture needs a program that is not installed.
[[nodiscard]] Result<Report> WaitReportOf(const std::string& file, const std::string& format);

// What to do where a profile does not know who ends waits.
inline constexpr std::string_view kHowToKnowWakers =
    "collect it without -m on and --no-wakers; for the history, set history.mode to hooks";

// kNotFound: the profile does not know who ends waits.
[[nodiscard]] Result<void> CheckWaits(const v1::Profile& profile);

// The profile must have passed CheckProfile.
[[nodiscard]] Result<std::string> RenderWaitReport(Report report, const v1::Profile& profile,
                                                   const ReportLook& look);

}  // namespace profd::client
