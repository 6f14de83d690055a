#include "client/screens/report/calls_view.h"

#include "client/profile/profile_facts.h"
#include "client/text/number.h"
#include "client/text/table.h"

namespace profd::client {

std::string RenderCalls(const v1::Profile& profile, const std::vector<NamedCalls>& calls,
                        const ReportQuestion& question, const ReportViewOptions& options) {
  Table table({{"calls", Align::kRight},
               {"self", Align::kRight, Shrink::kNever, Tone::kStrong},
               {"time", Align::kRight},
               {"mean", Align::kRight},
               {"longest", Align::kRight},
               {"name", Align::kLeft, Shrink::kMiddle}});
  bool cut = false;
  for (const NamedCalls& one : calls) {
    cut = cut || one.ended != one.calls;
    const auto time = [&](std::uint64_t ns) { return one.ended == 0 ? "" : FormatDuration(ns); };
    table.AddRow({FormatCount(one.calls), time(one.self_ns), time(one.total_ns), time(one.mean_ns),
                  time(one.longest_ns), one.name});
  }
  return ReportHead(profile, TimeOf(profile), question, options) + "\n" +
         options.palette.Paint(Tone::kFaint,
                               "calls that the program names, exact; self: without those inside") +
         "\n" + table.Render(options.width, options.palette) +
         (cut ? "note    times are those of calls that ended in this time\n" : "");
}

ReportSheet SheetOf(const std::vector<NamedCalls>& calls) {
  ReportSheet sheet;
  sheet.columns = {"name", "calls", "ended", "self_ns", "total_ns", "mean_ns", "longest_ns"};
  for (const NamedCalls& one : calls) {
    sheet.total_ns += one.self_ns;
    auto& row = sheet.rows.emplace_back();
    row.emplace_back(one.name);
    for (const std::uint64_t number :
         {one.calls, one.ended, one.self_ns, one.total_ns, one.mean_ns, one.longest_ns})
      row.emplace_back(number);
  }
  return sheet;
}

}  // namespace profd::client
