#include "client/screens/report/calls_view.h"

#include "client/profile/profile_facts.h"
#include "client/text/number.h"
#include "client/text/table.h"

namespace profd::client {

namespace {

// Events of calls that are missing: then calls are, or their ends.
std::uint64_t LostEvents(const v1::Profile& profile) {
  std::uint64_t lost = 0;
  for (const auto* counts : {&profile.lost(), &profile.dropped()})
    for (const v1::NamedCount& one : *counts)
      if (one.name().starts_with("steps_")) lost += one.count();
  return lost;
}

}  // namespace

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
  const std::uint64_t lost = LostEvents(profile);
  const std::string head = std::string("calls that the program names") +
                           (lost == 0 ? ", exact" : "") + "; self: without those inside";
  std::string notes;
  if (lost != 0)
    notes += "note    " + FormatCount(lost, "event") +
             " of calls are missing, so calls are: there were too many at once\n";
  if (cut) notes += "note    times are those of calls whose end was seen\n";
  return ReportHead(profile, TimeOf(profile), question, options) + "\n" +
         options.palette.Paint(Tone::kFaint, head) + "\n" +
         table.Render(options.width, options.palette) + notes;
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
