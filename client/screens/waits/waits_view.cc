#include "client/screens/waits/waits_view.h"

#include <algorithm>
#include <vector>

#include "client/profile/on_whom.h"
#include "client/profile/profile_facts.h"
#include "client/profile/stack_names.h"
#include "client/screens/summary/thread_rows.h"
#include "client/text/number.h"
#include "client/text/table.h"

namespace profd::client {
namespace {

constexpr std::size_t kRows = 40;
constexpr std::size_t kWideEnough = 100;  // columns; below it names have the room of some numbers
constexpr double kShownShare = 0.0005;    // of all blocked time

std::string GroupText(const WaitGroup& group) {
  return group.threads > 1 ? group.name + " x " + std::to_string(group.threads) : group.name;
}

// "runs", "timer" of what the waker does; "io-* has no CPU", "io-* < timer" of another thread.
std::string EndText(const WaitTable& table, const WaitRow& row, const WaitEnd& end) {
  std::string word(EndName(end.kind));
  if (end.kind == v1::PATH_NO_CPU) word = "has no CPU";
  if (end.thread == row.waker) return word;
  return table.groups[end.thread].name + (end.group == end.thread ? " " : " < ") + word;
}

std::string EndsText(const WaitTable& table, const WaitRow& row) {
  if (!table.groups[row.waker].is_thread) return "";
  std::string text;
  for (const WaitEnd& end : row.ends) {
    const double share = ShareOf(end.cost.ns, row.cost.ns);
    if (share < kShownShare) break;
    text += (text.empty() ? "" : ", ") + EndText(table, row, end) + " " + FormatShare(share);
  }
  return text;
}

std::string Number(std::uint64_t count) { return count == 0 ? "" : FormatCount(count); }

std::string KnotsText(const WaitTable& table) {
  std::string text;
  for (const std::vector<std::uint32_t>& knot : WaitGraph::Of(table).knots) {
    text += "wait for each other: ";
    for (std::size_t i = 0; i < knot.size(); ++i)
      text += (i == 0 ? "" : ", ") + table.groups[knot[i]].name;
    text += "\n";
  }
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string RenderWaits(const v1::Profile& profile, const WaitsOptions& options) {
  const WaitTable waits = WaitTable::Of(profile);
  Table table({{"waiter", Align::kLeft, Shrink::kMiddle},
               {"reason", Align::kLeft, Shrink::kNever, Tone::kBlocked},
               {"ended by", Align::kLeft, Shrink::kMiddle},
               {"time", Align::kRight},
               {"share", Align::kRight},
               {"waits", Align::kRight},
               {"spurious", Align::kRight},
               {"in the end", Align::kLeft, Shrink::kList}});
  const bool wide = options.width >= kWideEnough;
  std::size_t shown = 0;
  std::uint64_t left_ns = waits.blocked_ns;
  for (const WaitRow& row : waits.rows) {
    const bool light = ShareOf(row.cost.ns, waits.blocked_ns) < kShownShare && row.spurious == 0;
    if (!options.complete && (light || shown == kRows)) continue;
    ++shown;
    left_ns -= row.cost.ns;
    const WaitGroup& waiter = waits.groups[row.waiter];
    const bool rough = IsRough(row.cost.ns, row.cost.points, row.cost.exact_ns);
    table.AddRow(
        {GroupText(waiter), std::string(WaitName(row.wait)), waits.groups[row.waker].name,
         row.cost.ns == 0 || !wide ? "" : FormatDuration(row.cost.ns),
         row.cost.ns == 0 ? "" : FormatSampledShare(ShareOf(row.cost.ns, waiter.blocked_ns), rough),
         Number(row.waits), wide ? Number(row.spurious) : "", EndsText(waits, row)});
  }
  std::string out = options.palette.Paint(Tone::kStrong, TitleOf(profile)) + "   " +
                    FormatDuration(LengthNs(profile)) + ", " +
                    FormatCount(ThreadCount(profile), "thread") + ", " +
                    FormatDuration(waits.blocked_ns) + " blocked\n\n" +
                    table.Render(options.width, options.palette);
  if (shown < waits.rows.size())
    out += options.palette.Paint(Tone::kFaint, "... and " + FormatCount(waits.rows.size() - shown) +
                                                   " more, " + FormatDuration(left_ns) +
                                                   "; -v shows all") +
           "\n";
  return out + KnotsText(waits);
}

}  // namespace profd::client
