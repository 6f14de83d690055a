#include "client/screens/summary/summary.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "client/profile/counters/counts.h"
#include "client/profile/fleet_marks.h"
#include "client/profile/profile_facts.h"
#include "client/profile/share_error.h"
#include "client/profile/spinning.h"
#include "client/profile/stack_names.h"
#include "client/screens/summary/gil_view.h"
#include "client/screens/summary/hot_paths.h"
#include "client/screens/summary/on_whom_view.h"
#include "client/screens/summary/thread_rows.h"
#include "client/text/number.h"
#include "client/text/table.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::size_t kMaxRows = 20;
constexpr std::size_t kManyRows = 8;  // from here on rows of alike processes are joined
constexpr std::size_t kMaxPathRows = 3;
constexpr std::size_t kPathsPerRow = 6;
constexpr std::size_t kPathsWhenComplete = 16;
constexpr std::size_t kWidestPath = 120;  // a longer line is hard to follow
constexpr double kShownShare = 0.0005;    // what FormatShare does not round to nothing
constexpr double kBusyShare = 0.01;       // of the session; below it a row's paths are not shown

const v1::Process& ProcessOf(const v1::Profile& profile, const ThreadRow& row) {
  return profile.processes(static_cast<int>(row.process));
}

// How far the budget has raised the periods; empty where it has not.
std::string Subsampled(const v1::Profile& profile) {
  std::uint64_t on_cpu = 0;
  std::uint64_t off_cpu = 0;
  for (const v1::PeriodChange& change : profile.periods()) {
    on_cpu = std::max<std::uint64_t>(on_cpu, change.on_cpu_period_ns());
    off_cpu = std::max<std::uint64_t>(off_cpu, change.off_cpu_period_ns());
  }
  std::string text;
  if (off_cpu > profile.off_cpu_period_ns())
    text += ", off-CPU samples down to 1 in " + FormatDuration(off_cpu);
  if (on_cpu > profile.on_cpu_period_ns())
    text += ", on-CPU samples down to 1 in " + FormatDuration(on_cpu);
  return text.empty() ? text : "budget" + text.substr(1);
}

std::string Header(const v1::Profile& profile, const SummaryOptions& options) {
  const std::uint64_t duration = LengthNs(profile);
  std::string what = FormatDuration(duration);
  if (ProcessCount(profile) > 1) what += ", " + FormatCount(ProcessCount(profile), "process");
  what += ", " + FormatCount(ThreadCount(profile), "thread");
  if (profile.only_gil()) what += ", only time with the GIL held";
  if (!profile.filter().empty()) what += ", only " + SafeText(profile.filter());
  const bool loss = SumOf(profile.lost()) + SumOf(profile.dropped()) > 0;
  // Side by side as far as they fit; the title gives way first.
  const std::array<std::pair<std::string, Tone>, 5> parts{{
      {CutMiddle(ProfileTitle(profile), options.width), Tone::kStrong},
      {what, Tone::kPlain},
      {BasisText(profile), loss ? Tone::kWarning : Tone::kPlain},
      {profile.hook() == kFleetHook ? "" : CostText(profile), Tone::kPlain},
      {Subsampled(profile), Tone::kPlain},
  }};
  constexpr std::size_t kGap = 3;
  std::string out;
  std::size_t used = 0;
  for (const auto& [text, tone] : parts) {
    if (text.empty()) continue;
    const std::size_t width = DisplayWidth(text);
    if (used > 0 && used + kGap + width > options.width) {
      out += "\n";
      used = 0;
    }
    if (used > 0) out.append(kGap, ' ');
    out += options.palette.Paint(tone, text);
    used += width + (used > 0 ? kGap : 0);
  }
  return out + "\n";
}

template <typename Counts>
std::string CountLines(std::string_view title, const Counts& counts,
                       const SummaryOptions& options) {
  std::string out;
  for (const v1::NamedCount& count : counts) {
    // Standard error has had the words of a fleet.
    if (count.count() == 0 || count.name() == kFleetWords) continue;
    const std::string line = PadRight(title, 8) + FormatCount(count.count()) + "  " +
                             SafeText(count.text().empty() ? count.name() : count.text());
    out += CutMiddle(line, options.width) + "\n";
  }
  return out;
}

// The rules that have decided what threads on a CPU do.
std::string RuleLines(const v1::Profile& profile, const SummaryOptions& options) {
  std::string out;
  for (const RuleTime& rule : RuleTimes(profile))
    out += CutMiddle("rule    " + FormatDuration(rule.ns) + "  " + rule.text, options.width) + "\n";
  return out;
}

// That callers may be wrong; where few are, only with `complete`.
std::string FramePointerLines(const v1::Profile& profile, const SummaryOptions& options) {
  const StackFacts facts = StackFactsOf(profile);
  if (facts.by_frame_pointer == 0 || (!options.complete && !facts.many_by_frame_pointer()))
    return {};
  constexpr std::string_view kTitle = "note    ";
  const std::string second = std::string(kTitle.size(), ' ') + kFramePointerMeans;
  return CutMiddle(std::string(kTitle) + FramePointerText(facts), options.width) + "\n" +
         CutMiddle(second, options.width) + "\n";
}

// That no hook measured the waits, whether the user wanted that or profd refused hooks.
std::string ModeLine(const v1::Profile& profile, const SummaryOptions& options) {
  if (!profile.hook().starts_with("none")) return {};
  return CutMiddle("note    snapshot mode: waits are sampled, not measured", options.width) + "\n";
}

// How many switches were recorded, and whether all of them were.
std::string SwitchesLine(const v1::Profile& profile, const SummaryOptions& options) {
  if (!profile.has_switches()) return {};
  const v1::Switches& switches = profile.switches();
  std::string line = "note    " +
                     FormatCount(static_cast<std::uint64_t>(switches.thread_size()), "switch") +
                     " recorded";
  if (switches.incomplete_size() != 0)
    line += "; some of " +
            FormatCount(static_cast<std::uint64_t>(switches.incomplete_size()), "thread") +
            " are missing";
  return CutMiddle(line, options.width) + "\n";
}

// What hardware counters have counted, or why none has, where the user wanted them.
std::string CountersLine(const v1::Profile& profile, const SummaryOptions& options) {
  if (!profile.has_hardware_counters()) return {};
  Counts all;
  for (const v1::Thread& thread : profile.threads()) all += CountsOf(thread);
  const std::string text = HasCounts(profile) ? CountsText(all) : NoCountsText(profile);
  return CutMiddle("note    " + text, options.width) + "\n";
}

// "worker x 4": four of them in each process.
std::string ThreadLabel(const ThreadRow& row) {
  if (row.count == row.processes) return row.name;
  return row.name + " x " + std::to_string(row.count);
}

std::string WaitList(const ThreadRow& row) {
  std::string list;
  for (const WaitTime& wait : row.waits) {
    const double share = ShareOf(wait.ns, row.elapsed_ns);
    if (share < kShownShare) continue;
    const std::string_view name =
        wait.reason == v1::WAIT_NONE ? "not sampled" : WaitName(wait.reason);
    list += (list.empty() ? "" : ", ") + std::string(name) + " " +
            FormatSampledShare(share, IsRough(wait.ns, wait.points, wait.exact_ns));
  }
  return list;
}

// "postgres x 12", or "postgres (4242)".
std::string ProcessLabel(const v1::Process& process, const ThreadRow& row) {
  if (row.processes > 1) return SafeText(process.comm()) + " x " + std::to_string(row.processes);
  if (process.pid() == 0) return SafeText(process.comm());  // one of a group, or of a fleet
  return SafeText(process.comm()) + " (" + std::to_string(process.pid()) + ")";
}

// A main thread that is called what its process is: naming both would say one thing twice.
bool IsNamesake(const v1::Process& process, const ThreadRow& row) {
  return row.tid == process.pid() && ThreadLabel(row) == SafeText(process.comm());
}

std::string ThreadTable(const v1::Profile& profile, const std::vector<ThreadRow>& rows,
                        const SummaryOptions& options) {
  const bool part_time = std::ranges::any_of(profile.threads(), [](const v1::Thread& thread) {
    return thread.began() || thread.exited();
  });
  const bool split = std::ranges::any_of(
      rows, [](const ThreadRow& row) { return IsShown(row.spinning, row.elapsed_ns); });
  Table table({{"process", Align::kLeft, Shrink::kMiddle},
               {"thread", Align::kLeft, Shrink::kMiddle, Tone::kStrong},
               {"tid", Align::kRight},
               {"alive", Align::kRight},
               {split ? "working" : "running", Align::kRight, Shrink::kNever, Tone::kRunning},
               {"spinning", Align::kRight, Shrink::kNever, Tone::kWarning},
               {"stolen", Align::kRight},
               {"runnable", Align::kRight, Shrink::kNever, Tone::kRunnable},
               {"blocked", Align::kRight, Shrink::kNever, Tone::kBlocked},
               {"on", Align::kLeft, Shrink::kList}});
  const std::size_t shown = options.complete ? rows.size() : std::min(rows.size(), kMaxRows);
  const bool name_processes =
      profile.processes_size() > 1 &&
      !std::ranges::all_of(std::span(rows).first(shown), [&](const ThreadRow& row) {
        return IsNamesake(ProcessOf(profile, row), row);
      });
  for (std::size_t i = 0; i < shown; ++i) {
    const ThreadRow& row = rows[i];
    const auto share = [&](std::uint64_t ns) {
      return FormatSampledShare(ShareOf(ns, row.elapsed_ns), row.clock_missing);
    };
    const v1::Process& process = ProcessOf(profile, row);
    const std::uint64_t running = RunningNs(row.on_cpu_ns, row.stolen, row.elapsed_ns);
    table.AddRow({name_processes ? ProcessLabel(process, row) : "", ThreadLabel(row),
                  row.tid ? std::to_string(*row.tid) : "...",
                  part_time ? FormatDuration(row.elapsed_ns / row.count) : "",
                  share(split ? WorkingNs(running, row.spinning) : running),
                  split ? FormatSpinning(row.spinning, row.elapsed_ns) : "",
                  FormatStolen(row.stolen, row.elapsed_ns), share(row.runnable_ns),
                  share(row.blocked_ns), WaitList(row)});
  }
  std::string out = table.Render(options.width, options.palette);
  if (shown == rows.size()) return out;
  ThreadRow rest;
  std::size_t threads = 0;
  for (const ThreadRow& row : std::span(rows).subspan(shown)) {
    threads += row.count;
    rest.elapsed_ns += row.elapsed_ns;
    rest.on_cpu_ns += row.on_cpu_ns;
    rest.spinning += row.spinning;
    rest.runnable_ns += row.runnable_ns;
    rest.blocked_ns += row.blocked_ns;
    rest.stolen += row.stolen;
  }
  const std::string stolen = FormatStolen(rest.stolen, rest.elapsed_ns);
  const std::uint64_t running = RunningNs(rest.on_cpu_ns, rest.stolen, rest.elapsed_ns);
  return out + "and " + FormatCount(threads, "more thread") +
         (split ? ": working " + FormatShare(WorkingNs(running, rest.spinning), rest.elapsed_ns) +
                      ", spinning " + FormatSpinning(rest.spinning, rest.elapsed_ns)
                : ": running " + FormatShare(running, rest.elapsed_ns)) +
         (stolen.empty() ? "" : ", stolen " + stolen) + ", runnable " +
         FormatShare(ShareOf(rest.runnable_ns, rest.elapsed_ns)) + ", blocked " +
         FormatShare(ShareOf(rest.blocked_ns, rest.elapsed_ns)) + "\n";
}

// The rows whose paths are worth reading: the busiest, and what the main thread waits for.
std::vector<const ThreadRow*> PathRows(const v1::Profile& profile,
                                       const std::vector<ThreadRow>& pools) {
  std::vector<const ThreadRow*> chosen;
  const auto least =
      static_cast<std::uint64_t>(kBusyShare * static_cast<double>(LengthNs(profile)));
  for (const ThreadRow& row : pools)
    if (chosen.size() < kMaxPathRows && row.on_cpu_ns + row.runnable_ns >= least)
      chosen.push_back(&row);
  const auto is_main = [&](const ThreadRow& row) { return IsMain(profile, row); };
  if (std::ranges::count_if(pools, is_main) != 1 || chosen.size() == kMaxPathRows) return chosen;
  const auto main = std::ranges::find_if(pools, is_main);
  if (std::ranges::find(chosen, &*main) == chosen.end()) chosen.push_back(&*main);
  return chosen;
}

Tone ToneOf(const HotPath& path) {
  if (path.state == v1::STATE_ON_CPU) return path.spinning ? Tone::kWarning : Tone::kRunning;
  return path.state == v1::STATE_RUNNABLE ? Tone::kRunnable : Tone::kBlocked;
}

std::string_view StateWord(const HotPath& path) {
  if (path.state == v1::STATE_ON_CPU) return path.spinning ? "spinning" : "working";
  if (path.state == v1::STATE_RUNNABLE) return "runnable";
  return path.wait == v1::WAIT_NONE ? "blocked" : WaitName(path.wait);
}

std::string PathBlock(const v1::Profile& profile, const ThreadRow& row,
                      const SummaryOptions& options) {
  const std::vector<HotPath> paths =
      HotPaths(profile, row.threads, options.complete ? kPathsWhenComplete : kPathsPerRow);
  if (paths.empty()) return {};
  std::string who = ThreadLabel(row);
  const v1::Process& process = ProcessOf(profile, row);
  if (row.processes > 1 && IsMain(profile, row))
    who = ProcessLabel(process, row);
  else if (row.processes > 1)
    who = ProcessLabel(process, row) + " / " + who;
  else if (profile.processes_size() > 1 && !IsNamesake(process, row))
    who = SafeText(process.comm()) + " / " + who;
  if (row.tid) who += " (" + std::to_string(*row.tid) + ")";
  std::string out =
      options.palette.Paint(
          Tone::kFaint,
          CutMiddle(std::string(profile.only_gil() ? "where the time with the GIL goes: "
                                                   : "where the time goes: ") +
                        who,
                    options.width)) +
      "\n";
  std::size_t word_width = 0;
  std::size_t share_width = 0;
  std::size_t reach_width = 0;
  std::vector<std::string> shares;
  std::vector<std::string> reaches;
  for (const HotPath& path : paths) {
    const bool rough = IsRough(path.ns, path.points, path.exact_ns);
    word_width = std::max(word_width, StateWord(path).size());
    shares.push_back(FormatSampledShare(ShareOf(path.ns, row.elapsed_ns), rough));
    share_width = std::max(share_width, shares.back().size() + 1);
    reaches.push_back(FormatReach(ShareReach(path.error, row.elapsed_ns).value_or(0)));
    reach_width = std::max(reach_width, reaches.back().size());
  }
  // Intervals take their columns from the margin first: paths need theirs.
  constexpr std::size_t kShareWidth = 9;
  if (reach_width == 0) share_width = kShareWidth;
  const std::size_t fixed = share_width + reach_width + 2 + 3 + word_width;
  const std::size_t room =
      options.width > fixed + 10 ? std::min(options.width - fixed, kWidestPath) : 10;
  std::vector<std::string> texts;
  std::size_t text_width = 0;
  for (const HotPath& path : paths) {
    texts.push_back(PathText(path, room));
    text_width = std::max(text_width, DisplayWidth(texts.back()));
  }
  std::uint64_t shown_ns = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const HotPath& path = paths[i];
    shown_ns += path.ns;
    out += PadLeft(shares[i], share_width) + PadRight(reaches[i], reach_width) + "  " +
           PadRight(texts[i], text_width) + "   " +
           options.palette.Paint(ToneOf(path), StateWord(path)) + "\n";
  }
  const double rest = 1 - ShareOf(shown_ns, row.elapsed_ns);
  if (rest >= kShownShare)
    out += PadLeft(FormatShare(rest), share_width) + std::string(reach_width, ' ') +
           (profile.only_gil()         ? "  (other paths, and without the GIL)\n"
            : profile.filter().empty() ? "  (other paths)\n"
                                       : "  (other paths, and what does not fit)\n");
  if (profile.only_gil()) return out;
  const std::string on_whom = RenderOnWhom(profile, row, who, options);
  return on_whom.empty() ? out : out + "\n" + on_whom;
}

}  // namespace

std::string BasisText(const v1::Profile& profile) {
  const std::uint64_t dropped = SumOf(profile.dropped());
  std::string text = FormatCount(SampleCount(profile), "sample");
  text += ", " + FormatCount(SumOf(profile.lost())) + " lost";
  if (dropped > 0) text += ", " + FormatCount(dropped) + " dropped";
  return profile.filter().empty() ? text + ", " + ClosureText(profile) : text;
}

std::string CostText(const v1::Profile& profile) {
  return "cost " +
         FormatShare(ShareOf(profile.daemon_cpu_ns() + profile.bpf_ns(), LengthNs(profile))) +
         " of one CPU";
}

std::string ProfileTitle(const v1::Profile& profile) {
  if (profile.processes_size() != 1) return SafeText(profile.target());
  const v1::Process& process = profile.processes(0);
  const std::string& name =
      process.command_line().empty() ? process.comm() : process.command_line();
  if (process.group_size() != 0) return ProcessName(process);
  return SafeText(name) + " (" + std::to_string(process.pid()) + ")";
}

std::string RenderSummary(const v1::Profile& profile, const SummaryOptions& options) {
  std::string out = Header(profile, options);
  out += CountLines("lost", profile.lost(), options);
  out += CountLines("dropped", profile.dropped(), options);
  if (options.complete)
    out += CountLines("note", profile.counters(), options) + RuleLines(profile, options);
  out += ModeLine(profile, options);
  out += SwitchesLine(profile, options);
  out += CountersLine(profile, options);
  out += FramePointerLines(profile, options);
  const std::vector<ThreadRow> rows = ThreadRows(profile);
  const bool join = !options.complete && profile.processes_size() > 1 && rows.size() > kManyRows;
  // Its clocks are of all time.
  if (!profile.only_gil())
    out += "\n" + ThreadTable(profile, join ? JoinAlike(profile, rows) : rows, options);
  out += RenderGil(profile, options);
  const std::vector<ThreadRow> pools = JoinPools(profile, rows);
  for (const ThreadRow* row : PathRows(profile, pools)) {
    const std::string block = PathBlock(profile, *row, options);
    if (!block.empty()) out += "\n" + block;
  }
  if (!options.footer.empty())
    out += "\n" + options.palette.Paint(Tone::kFaint, options.footer) + "\n";
  return out;
}

}  // namespace profd::client
