#include "client/commands/common/thread_reports.h"

#include <array>

#include "client/screens/threads/thread_sheet.h"
#include "client/screens/threads/threads_view.h"

namespace profd::client {
namespace {

constexpr std::array kFormats{ReportFormat{"table", ".txt", Report::kThreads},
                              ReportFormat{"csv", ".csv", Report::kThreadsCsv},
                              ReportFormat{"json", ".json", Report::kThreadsJson}};
constexpr ReportFormats kThreadFormats("threads", kFormats);

}  // namespace

std::vector<std::string> ThreadFormats() { return kThreadFormats.Names(); }

Result<Report> ThreadReportOf(const std::string& file, const std::string& format) {
  return kThreadFormats.Find(file, format);
}

std::string RenderThreadReport(Report report, const v1::Profile& profile, const ReportLook& look) {
  switch (report) {
    case Report::kThreadsCsv:
      return ThreadsCsv(profile);
    case Report::kThreadsJson:
      return ThreadsJson(profile);
    default:
      return RenderThreads(profile, {.width = look.width,
                                     .palette = look.palette,
                                     .complete = look.complete,
                                     .counters = look.counters});
  }
}

}  // namespace profd::client
