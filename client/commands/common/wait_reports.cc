#include "client/commands/common/wait_reports.h"

#include <array>
#include <cstdlib>

#include "client/format/wait_dot.h"
#include "client/profile/waits/wait_table.h"
#include "client/screens/json/screen_json.h"
#include "client/screens/waits/waits_view.h"
#include "client/system/graphviz.h"

namespace profd::client {
namespace {

constexpr std::array kFormats{ReportFormat{"table", ".txt", Report::kWaits},
                              ReportFormat{"dot", ".dot", Report::kWaitsDot},
                              ReportFormat{"svg", ".svg", Report::kWaitsSvg},
                              ReportFormat{"json", ".json", Report::kWaitsJson}};
constexpr ReportFormats kWaitFormats("waits", kFormats);

std::string SearchPath() {
  const char* path = std::getenv("PATH");
  return path == nullptr ? "" : path;
}

}  // namespace

std::vector<std::string> WaitFormats() { return kWaitFormats.Names(); }

Result<Report> WaitReportOf(const std::string& file, const std::string& format) {
  Result<Report> report = kWaitFormats.Find(file, format);
  if (!report || *report != Report::kWaitsSvg) return report;
  // Better said now than after a collection.
  const Result<std::string> dot = FindGraphviz(SearchPath());
  if (!dot) return dot.error();
  return report;
}

Result<void> CheckWaits(const v1::Profile& profile) {
  if (profile.wakers()) return {};
  return Error{ErrorCode::kNotFound, "no data: the profile does not know who ends waits",
               std::string(kHowToKnowWakers)};
}

Result<std::string> RenderWaitReport(Report report, const v1::Profile& profile,
                                     const ReportLook& look) {
  switch (report) {
    case Report::kWaitsJson:
      return WaitsJson(profile);
    case Report::kWaitsDot:
      return WaitDot(profile, WaitTable::Of(profile));
    case Report::kWaitsSvg: {
      const Result<std::string> dot = FindGraphviz(SearchPath());
      if (!dot) return dot.error();
      return DrawGraph(*dot, WaitDot(profile, WaitTable::Of(profile)));
    }
    default:
      return RenderWaits(profile,
                         {.width = look.width, .palette = look.palette, .complete = look.complete});
  }
}

}  // namespace profd::client
