#include "client/screens/top/top_screen.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "client/profile/profile_facts.h"
#include "client/profile/spinning.h"
#include "client/profile/stack_names.h"
#include "client/screens/summary/summary.h"
#include "client/screens/summary/thread_rows.h"
#include "client/screens/top/top_rows.h"
#include "client/text/number.h"
#include "client/text/text.h"
#include "daemon/base/files.h"

namespace profd::client {
namespace {

constexpr std::size_t kHeadLines = 4;  // title, sums, what is shown, column headers
constexpr std::size_t kFootLines = 1;
constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastName = 12;  // columns that the name keeps, if need be past the edge
constexpr std::size_t kWideBy = 16;
constexpr std::size_t kNarrowBy = 10;
constexpr std::size_t kWideEnough = 100;  // from here on there is room for users and more

constexpr std::array<std::string_view, 19> kHelp{
    "f t p      functions, threads, processes",
    "s S        sort by the next or the previous column",
    "/          show only rows with a text in them: Enter keeps it, Esc drops it",
    "space      let the table stand still, and go on",
    "up down    move; also Page Up, Page Down, Home, End",
    "e          functions: states of themselves, or with all that they call",
    "k          functions: the kernel's as rows, or as part of their callers",
    "Ctrl-L     draw again",
    "q Ctrl-C   leave",
    "",
    "All numbers are threads on average: time of threads by the time that has passed.",
    "So running (working + spinning) is also how many CPUs are used, and the states",
    "add up to the threads. Those of threads and processes are exact. Those of functions,",
    "and all that spins, are by samples: +- is how far their 95 % interval reaches, and",
    "~ stands at numbers that rest on few. on: what most of the blocked time is for;",
    "by: who ends most of it, where that is known. spinning: waits with a CPU in hand;",
    "stolen: what interrupts and the hypervisor took of a CPU; where they are more than",
    "0.5 %. Time joins without a gap from one table to the next.",
    "any key leaves this help",
};

struct Column {
  std::string header;
  std::size_t least = 0;  // columns, so that the table does not jump about
  bool right = true;
  Tone tone = Tone::kPlain;
  bool sorted = false;
};

struct Lines {
  std::string header;
  std::vector<std::string> rows;
};

std::string SampledThreads(const StateTime& time, std::uint64_t length_ns) {
  if (time.ns == 0) return "";
  return FormatSampledThreads(time.ns, length_ns, IsRough(time.ns, time.points, time.exact_ns));
}

// With how far the interval of a sum of samples reaches, which is one of `lived_ns`.
std::string ThreadsWithReach(const StateTime& time, const ErrorSum& error, std::uint64_t lived_ns,
                             std::uint64_t length_ns) {
  const std::optional<double> reach = ShareReach(error, lived_ns);
  if (!reach || time.ns == 0) return SampledThreads(time, length_ns);
  return FormatThreads(time.ns, length_ns) +
         FormatThreadsReach(*reach * ShareOf(lived_ns, length_ns));
}

StateTime Sum(const StateTimes& times) {
  StateTime sum;
  for (const StateTime& state : times.states) sum += state;
  return sum;
}

bool ShowsStolen(const std::vector<TopRow>& rows, std::uint64_t length_ns) {
  return std::ranges::any_of(
      rows, [&](const TopRow& row) { return !row.sampled() && IsShown(row.stolen, length_ns); });
}

std::string StolenThreads(const StolenTime& stolen, std::uint64_t length_ns) {
  if (!IsShown(stolen, length_ns)) return "";
  return FormatSampledThreads(stolen.ns, length_ns, stolen.spread_ns > 0);
}

// Columns that are there only where a row needs them.
struct Extra {
  bool spinning = false;  // working and spinning instead of running
  bool stolen = false;
  bool by = false;  // who ends waits
};

// The times that the columns of states show.
const StateTimes& ShownTimes(const TopRow& row, const TopState& state) {
  return row.sampled() && !state.total ? row.self : row.total;
}

Extra ExtraOf(const std::vector<TopRow>& rows, const TopState& state, std::uint64_t length_ns,
              bool wide) {
  const auto spins = [&](const TopRow& row) {
    const StateTime& time = ShownTimes(row, state).spinning;
    return IsShown(SpinningTime{time.ns, time.points}, length_ns);
  };
  Extra extra{.spinning = std::ranges::any_of(rows, spins), .stolen = ShowsStolen(rows, length_ns)};
  // A narrow table has no room for all.
  const bool room = wide || (!extra.spinning && !extra.stolen);
  extra.by =
      room && std::ranges::any_of(rows, [](const TopRow& row) { return !row.wakers.empty(); });
  return extra;
}

std::vector<Column> ColumnsOf(const TopState& state, bool wide, const Extra& extra) {
  const bool functions = state.view == TopView::kFunctions;
  std::vector<Column> columns;
  if (functions) {
    columns = {{"self", 7}, {"total", 7}};
  } else {
    columns = {{"pid", 7}};
    if (state.view == TopView::kThreads) columns.push_back({"tid", 7});
    if (wide) columns.push_back({"user", 8, false});
  }
  columns.push_back({extra.spinning ? "working" : "running", 7, true, Tone::kRunning,
                     state.sort == TopSort::kRunning});
  if (extra.spinning)
    columns.push_back({"spinning", 8, true, Tone::kWarning,
                       state.sort == TopSort::kRunning || state.sort == TopSort::kSpinning});
  if (extra.stolen) columns.push_back({"stolen", 7});
  columns.push_back({"runnable", 8, true, Tone::kRunnable, state.sort == TopSort::kRunnable});
  columns.push_back({"blocked", 7, true, Tone::kBlocked, state.sort == TopSort::kBlocked});
  columns.push_back({"on", 6, false, Tone::kBlocked});
  if (extra.by) columns.push_back({"by", wide ? kWideBy : kNarrowBy, false});
  if (state.view == TopView::kProcesses) columns.push_back({"threads", 7});
  if (functions && wide) columns.push_back({"module", 16, false, Tone::kFaint});
  columns.push_back({functions                         ? "function"
                     : state.view == TopView::kThreads ? "thread"
                                                       : "process",
                     kLeastName, false, Tone::kPlain, state.sort == TopSort::kName});
  if (functions) {
    columns[0].sorted = state.sort == TopSort::kSelf;
    columns[1].sorted = state.sort == TopSort::kTotal;
  }
  return columns;
}

// "redis-server *:6379": the command line without its folders, as far as it says more than the
// name; of a thread its own name before that.
std::string NameCell(const TopRow& row) {
  const std::string_view detail = row.detail;
  const std::string_view program = detail.substr(0, detail.find(' '));
  std::string command = std::string(BaseName(program)) + std::string(detail.substr(program.size()));
  if (command.starts_with(row.name)) return command;
  // A group of which the command lines differ.
  return row.name.starts_with(command + " x ") ? row.name : row.name + "  " + command;
}

// What shares are of, in ns.
struct Whole {
  std::uint64_t length_ns = 0;  // of the time range
  std::uint64_t lived_ns = 0;   // by all threads
};

Whole WholeOf(const v1::Profile& profile) {
  Whole whole{.length_ns = LengthNs(profile)};
  for (const ThreadRow& row : EachThread(profile)) whole.lived_ns += row.elapsed_ns;
  return whole;
}

std::vector<std::string> CellsOf(const TopRow& row, const TopState& state, const Whole& whole,
                                 bool wide, const Extra& extra) {
  const std::uint64_t length_ns = whole.length_ns;
  const StateTimes& times = ShownTimes(row, state);
  const auto name = std::string(WaitName(times.main_wait()));
  std::vector<std::string> cells;
  if (row.sampled()) {
    // A narrow table has room for one interval: at the share that its states divide.
    const auto share = [&](const StateTimes& of, const ErrorSum& error, bool divided) {
      return wide || divided ? ThreadsWithReach(Sum(of), error, whole.lived_ns, length_ns)
                             : SampledThreads(Sum(of), length_ns);
    };
    cells = {share(row.self, row.self_error, !state.total),
             share(row.total, row.total_error, state.total)};
    StateTime running = times.states[v1::STATE_ON_CPU];
    if (extra.spinning) running -= times.spinning;
    cells.push_back(SampledThreads(running, length_ns));
    if (extra.spinning) cells.push_back(SampledThreads(times.spinning, length_ns));
    cells.push_back(SampledThreads(times.states[v1::STATE_RUNNABLE], length_ns));
    cells.push_back(SampledThreads(times.states[v1::STATE_BLOCKED], length_ns));
    cells.push_back(name);
    if (wide) cells.push_back(CutMiddle(row.detail, 24));
    cells.push_back(row.name);
    return cells;
  }
  const auto number = [](std::uint32_t id) { return id == 0 ? "" : std::to_string(id); };
  cells.push_back(number(row.pid));
  if (state.view == TopView::kThreads) cells.push_back(number(row.tid));
  if (wide) cells.push_back(CutMiddle(row.user, 12));
  const auto& states = times.states;
  const SpinningTime spinning{times.spinning.ns, times.spinning.points};
  const std::uint64_t running = RunningNs(states[v1::STATE_ON_CPU].ns, row.stolen, length_ns);
  cells.push_back(
      FormatThreads(extra.spinning ? WorkingNs(running, spinning) : running, length_ns));
  if (extra.spinning)
    cells.push_back(spinning.ns == 0 ? FormatThreads(0, length_ns)
                                     : SampledThreads(times.spinning, length_ns));
  if (extra.stolen) cells.push_back(StolenThreads(row.stolen, length_ns));
  cells.push_back(FormatThreads(states[v1::STATE_RUNNABLE].ns, length_ns));
  cells.push_back(FormatThreads(states[v1::STATE_BLOCKED].ns, length_ns));
  cells.push_back(name);
  if (extra.by) cells.push_back(CutMiddle(row.main_waker(), wide ? kWideBy : kNarrowBy));
  if (state.view == TopView::kProcesses) cells.push_back(FormatCount(row.threads));
  cells.push_back(NameCell(row));
  return cells;
}

std::string Line(const std::vector<std::string>& cells, const std::vector<Column>& columns,
                 const std::vector<std::size_t>& widths, const Palette& palette, bool header) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool last = i + 1 == columns.size();
    const Tone tone = !header ? columns[i].tone : columns[i].sorted ? Tone::kStrong : Tone::kFaint;
    std::string cell = last ? CutMiddle(cells[i], widths[i]) : cells[i];
    if (!last) cell = columns[i].right ? PadLeft(cell, widths[i]) : PadRight(cell, widths[i]);
    line += palette.Paint(tone, cell);
    if (!last) line.append(kGap, ' ');
  }
  return line;
}

Lines TableLines(const std::vector<TopRow>& rows, std::size_t first, std::size_t count,
                 const TopState& state, const Whole& whole, std::size_t width,
                 const Palette& palette) {
  const bool wide = width >= kWideEnough;
  const Extra extra = ExtraOf(rows, state, whole.length_ns, wide);
  const std::vector<Column> columns = ColumnsOf(state, wide, extra);
  std::vector<std::vector<std::string>> cells;
  for (std::size_t i = first; i < rows.size() && i < first + count; ++i)
    cells.push_back(CellsOf(rows[i], state, whole, wide, extra));
  std::vector<std::size_t> widths;
  std::size_t used = 0;
  for (std::size_t i = 0; i + 1 < columns.size(); ++i) {
    std::size_t most = std::max(columns[i].least, columns[i].header.size());
    for (const auto& row : cells) most = std::max(most, DisplayWidth(row[i]));
    widths.push_back(most);
    used += most + kGap;
  }
  widths.push_back(width > used + kLeastName ? width - used : kLeastName);
  std::vector<std::string> headers;
  headers.reserve(columns.size());
  for (const Column& column : columns) headers.push_back(column.header);
  Lines lines{Line(headers, columns, widths, palette, true), {}};
  for (const auto& row : cells) lines.rows.push_back(Line(row, columns, widths, palette, false));
  return lines;
}

// Texts side by side as far as they fit.
std::string Join(const std::vector<std::pair<std::string, Tone>>& parts, std::size_t width,
                 const Palette& palette) {
  constexpr std::size_t kBetween = 3;
  std::string line;
  std::size_t used = 0;
  for (const auto& [text, tone] : parts) {
    if (text.empty()) continue;
    const std::size_t gap = used == 0 ? 0 : kBetween;
    if (used + gap >= width) break;
    const std::size_t room = width - used - gap;
    const std::string cut = used == 0 ? CutMiddle(text, room) : CutList(text, room);
    if (cut.empty() || cut == "...") break;
    line += std::string(gap, ' ') + palette.Paint(tone, cut);
    used += gap + DisplayWidth(cut);
  }
  return line;
}

std::string TitleLine(const v1::Profile& profile, const std::string& before, const TopState& state,
                      std::size_t width, const Palette& palette) {
  const std::string what = FormatDuration(LengthNs(profile)) + ", " +
                           FormatCount(ProcessCount(profile), "process") + ", " +
                           FormatCount(ThreadCount(profile), "thread");
  const std::size_t room = width > what.size() + before.size() + 18
                               ? width - what.size() - before.size() - 18
                               : kLeastName;
  return Join({{before, Tone::kPlain},
               {CutMiddle(ProfileTitle(profile), room), Tone::kStrong},
               {what, Tone::kPlain},
               {state.paused ? "[paused]" : "", Tone::kWarning}},
              width, palette);
}

std::string SumLine(const v1::Profile& profile, std::size_t width, const Palette& palette) {
  StateTimes sum;
  StolenTime stolen;
  std::uint64_t elapsed_ns = 0;
  for (const TopRow& row : TopProcesses(profile)) {
    sum += row.total;
    stolen += row.stolen;
    elapsed_ns += row.elapsed_ns;
  }
  const std::uint64_t length_ns = LengthNs(profile);
  const std::string stolen_threads = StolenThreads(stolen, length_ns);
  const SpinningTime spinning{sum.spinning.ns, sum.spinning.points};
  const bool split = IsShown(spinning, length_ns);
  const std::uint64_t running = RunningNs(sum.states[v1::STATE_ON_CPU].ns, stolen, length_ns);
  const auto threads = [&](std::uint64_t ns) { return FormatThreads(ns, length_ns); };
  std::vector<std::pair<std::string, Tone>> parts{
      {split ? threads(WorkingNs(running, spinning)) + " working" : threads(running) + " running",
       Tone::kRunning}};
  if (split)
    parts.emplace_back(SampledThreads(sum.spinning, length_ns) + " spinning", Tone::kWarning);
  if (!stolen_threads.empty()) parts.emplace_back(stolen_threads + " stolen", Tone::kPlain);
  parts.emplace_back(threads(sum.states[v1::STATE_RUNNABLE].ns) + " runnable", Tone::kRunnable);
  parts.emplace_back(threads(sum.states[v1::STATE_BLOCKED].ns) + " blocked", Tone::kBlocked);
  const std::string whole = " = " + threads(elapsed_ns) + " threads";
  std::string plain;
  std::string painted;
  for (const auto& [text, tone] : parts) {
    const char* const plus = plain.empty() ? "" : " + ";
    plain += plus + text;
    painted += plus + palette.Paint(tone, text);
  }
  const std::size_t used = plain.size() + whole.size();
  if (used > width) return CutMiddle(plain + whole, width);
  constexpr std::size_t kBetween = 3;
  const std::string facts =
      Join({{BasisText(profile), Tone::kFaint}, {CostText(profile), Tone::kFaint}},
           width - used > kBetween ? width - used - kBetween : 0, palette);
  return painted + whole + (facts.empty() ? "" : std::string(kBetween, ' ') + facts);
}

std::string WhatLine(const TopState& state, std::size_t shown, std::size_t all, std::size_t width,
                     const Palette& palette) {
  const std::string what =
      std::string(NameOf(state.view)) + " by " + NameOf(state.sort) + ", in threads on average";
  std::string how;
  if (state.view == TopView::kFunctions)
    how = std::string(state.total ? "states with all they call" : "states of themselves") +
          (state.kernel ? "" : ", kernel as part of callers");
  const std::string rows = shown < all ? FormatCount(shown) + " of " + FormatCount(all) : "";
  const std::string filter = state.filter.empty() ? "" : "filter: " + SafeText(state.filter);
  return Join(
      {{what, Tone::kPlain}, {filter, Tone::kWarning}, {rows, Tone::kFaint}, {how, Tone::kFaint}},
      width, palette);
}

std::string FootLine(const TopState& state, const std::string& note, std::size_t width,
                     const Palette& palette) {
  if (state.typing_filter) return CutMiddle("filter: " + SafeText(state.filter) + "_", width);
  if (!note.empty()) return palette.Paint(Tone::kWarning, CutMiddle(SafeText(note), width));
  return palette.Paint(
      Tone::kFaint,
      CutMiddle("[f]unctions [t]hreads [p]rocesses [s]ort [/]filter [space]pause [h]elp [q]uit",
                width));
}

std::string TimeOfDay(const v1::Profile& profile) {
  const auto seconds =
      static_cast<std::time_t>((profile.start_unix_ns() + LengthNs(profile)) / 1'000'000'000u);
  std::tm local{};
  std::array<char, 32> text;
  if (::localtime_r(&seconds, &local) == nullptr ||
      std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &local) == 0)
    return "";
  return text.data();
}

}  // namespace

std::size_t TopPage(std::size_t height) {
  return height > kHeadLines + kFootLines + 1 ? height - kHeadLines - kFootLines : 1;
}

std::vector<std::string> RenderTopScreen(const v1::Profile* profile, const std::string& note,
                                         TopState& state, const TopScreenOptions& options) {
  const std::size_t page = TopPage(options.height);
  std::vector<std::string> lines;
  if (profile == nullptr) {
    lines.emplace_back("profctl top   the first table is being made ...");
  } else {
    const std::vector<TopRow> rows = TopRowsOf(*profile, state);
    const std::size_t last_page = rows.size() > page ? rows.size() - page : 0;
    state.first_row = std::min(state.first_row, last_page);
    Lines table = TableLines(rows, state.first_row, page, state, WholeOf(*profile), options.width,
                             options.palette);
    lines.push_back(TitleLine(*profile, "", state, options.width, options.palette));
    lines.push_back(SumLine(*profile, options.width, options.palette));
    lines.push_back(
        WhatLine(state, table.rows.size(), rows.size(), options.width, options.palette));
    lines.push_back(std::move(table.header));
    if (!state.help) std::ranges::move(table.rows, std::back_inserter(lines));
  }
  if (state.help) {
    lines.resize(std::min(lines.size(), kHeadLines - 1));
    lines.emplace_back();
    for (const std::string_view line : kHelp) lines.push_back(CutMiddle(line, options.width));
  }
  lines.resize(options.height > kFootLines ? options.height - kFootLines : 0);
  lines.push_back(FootLine(state, note, options.width, options.palette));
  return lines;
}

std::string RenderTopBlock(const v1::Profile& profile, const TopState& state, std::size_t width,
                           const Palette& palette, bool complete) {
  const std::vector<TopRow> rows = TopRowsOf(profile, state);
  const std::size_t count = complete ? rows.size() : kTopBlockRows;
  const Lines table = TableLines(rows, 0, count, state, WholeOf(profile), width, palette);
  std::string out = TitleLine(profile, TimeOfDay(profile), state, width, palette) + "\n" +
                    SumLine(profile, width, palette) + "\n" +
                    WhatLine(state, table.rows.size(), rows.size(), width, palette) + "\n" +
                    table.header + "\n";
  for (const std::string& row : table.rows) out += row + "\n";
  return out + "\n";
}

}  // namespace profd::client
