#include "client/screens/threads/threads_view.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "client/profile/profile_facts.h"
#include "client/profile/stack_names.h"
#include "client/profile/threads/concurrency.h"
#include "client/profile/threads/placement.h"
#include "client/profile/threads/thread_advice.h"
#include "client/profile/threads/thread_use.h"
#include "client/screens/report/report_view.h"
#include "client/text/number.h"
#include "client/text/table.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::size_t kProcesses = 5;
constexpr std::size_t kThreads = 20;
constexpr std::size_t kLevels = 12;       // rows of how many threads ran at once
constexpr std::size_t kNumbers = 46;      // columns of such a row, bars left out
constexpr std::size_t kMostBar = 30;      // columns
constexpr double kShownShare = 0.0005;    // of its time; of reasons to be blocked
constexpr std::size_t kWideEnough = 100;  // columns
constexpr std::string_view kIndent = "  ";

std::vector<std::size_t> ByWanted(const std::vector<ThreadUse>& uses) {
  std::vector<std::size_t> order(uses.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>{},
                           [&](std::size_t i) { return uses[i].wanted_ns(); });
  return order;
}

std::string LimitText(const UsableCpus& usable) {
  const bool whole = usable.cpus == static_cast<double>(static_cast<std::uint64_t>(usable.cpus));
  const std::string cpus =
      FormatDecimals(usable.cpus, whole ? 0 : 2) + (usable.cpus == 1 ? " CPU" : " CPUs");
  switch (usable.by) {
    case UsableCpus::By::kAffinity:
      return cpus + " of its affinity";
    case UsableCpus::By::kQuota:
      return cpus + " of its quota, cpu.max";
    default:
      return cpus + " of the host";
  }
}

// "0-3, 56".
std::string CpuList(const std::vector<std::uint32_t>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(cpus[i]);
    if (last != i) text += "-" + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text;
}

// What is shown of one profile.
class Screen {
 public:
  Screen(const v1::Profile& profile, const ThreadsOptions& options)
      : profile_(profile),
        options_(options),
        length_ns_(LengthNs(profile)),
        cpus_(profile),
        threads_(UseOfThreads(profile)),
        processes_(UseOfProcesses(profile, threads_)),
        advice_(AdviceOf(profile, threads_)) {
    for (const ThreadUse& use : threads_) all_ += use;
  }

  [[nodiscard]] std::string Text() const {
    const ReportViewOptions head{.width = options_.width, .palette = options_.palette};
    std::string text = TitleLine(profile_, head);
    if (processes_.size() != 1) text += Wrapped(AverageText(all_.time, length_ns_), "");
    return text + Processes() + Shares() + Switches() + Hardware() + Notes();
  }

 private:
  [[nodiscard]] std::string Faint(const std::string& text) const {
    return options_.palette.Paint(Tone::kFaint, text) + "\n";
  }
  [[nodiscard]] const v1::Process& Process(std::size_t process) const {
    return profile_.processes(static_cast<int>(process));
  }
  [[nodiscard]] std::size_t Shown(std::size_t rows, std::size_t most) const {
    return options_.complete ? rows : std::min(rows, most);
  }

  [[nodiscard]] std::string Processes() const {
    std::string text;
    const std::vector<std::size_t> order = ByWanted(processes_);
    const std::size_t shown = Shown(order.size(), kProcesses);
    for (std::size_t i = 0; i < shown; ++i) text += OneProcess(order[i]);
    if (shown < order.size()) {
      ThreadUse rest;
      for (std::size_t i = shown; i < order.size(); ++i) rest += processes_[order[i]];
      text += "\n" +
              Faint("... and " + FormatCount(order.size() - shown) + " more" + "; -v shows all") +
              Wrapped(AverageText(rest.time, length_ns_), kIndent);
    }
    return text;
  }

  [[nodiscard]] std::string Wrapped(const std::string& text, std::string_view indent) const {
    const std::size_t width = options_.width - indent.size();
    std::string lines;
    for (const std::string& line : WrapWords(text, width, width))
      lines += std::string(indent) + line + "\n";
    return lines;
  }

  [[nodiscard]] std::string OneProcess(std::size_t process) const {
    const ThreadUse& use = processes_[process];
    std::string text =
        "\n" +
        options_.palette.Paint(Tone::kStrong,
                               CutMiddle(ProcessName(Process(process)), options_.width)) +
        "\n";
    const auto add = [&](const std::string& line) { text += Wrapped(line, kIndent); };
    add(AverageText(use.time, length_ns_));
    if (use.spin.serial_ns + use.spin.imbalance_ns != 0) add(CauseText(use));
    const UsableCpus usable = UsableBy(profile_, Process(process));
    if (usable.by != UsableCpus::By::kUnknown)
      add("effective use " + FormatShare(EffectiveUse(use, usable, length_ns_)) + " of " +
          LimitText(usable));
    if (const std::string throttled = ThrottledText(Process(process).cpu_limits());
        !throttled.empty())
      add(throttled);
    for (const ThreadAdvice& advice : advice_)
      if (advice.process == process) add(advice.text);
    return text + AtOnce(Process(process));
  }

  // "throttled 1.20 s, summed over CPUs, in 12 of 100 periods of its quota"; "": it has none.
  [[nodiscard]] static std::string ThrottledText(const v1::CpuLimits& limits) {
    if (limits.quota_periods() == 0) return "";
    const std::string periods = FormatCount(limits.quota_periods(), "period") + " of its quota";
    if (limits.throttled_periods() == 0) return "never throttled in " + periods;
    return "throttled " + FormatDuration(limits.throttled_ns()) + ", summed over CPUs, in " +
           FormatCount(limits.throttled_periods()) + " of " + periods;
  }

  [[nodiscard]] static std::string CauseText(const ThreadUse& use) {
    const auto share = [&](std::uint64_t ns) {
      return "~" + FormatShare(ns, use.time[TimePart::kSpinning].ns);
    };
    return "spinning: " + share(use.spin.serial_ns) +
           " while no parallel region runs (serial code), " + share(use.spin.imbalance_ns) +
           " in a region in which others still work (imbalance)";
  }

  [[nodiscard]] std::string PointShare(std::uint64_t part, std::uint64_t points,
                                       bool of_one) const {
    if (part == 0) return "";
    const double share = ShareOf(part, points);
    // Members of a group share their points, so these are no independent draws.
    if (!of_one) return FormatSampledShare(share, part < kFewSamples);
    const Interval interval = PointInterval(part, points);
    return FormatSampledShare(share, part < kFewSamples) +
           FormatReach(std::max(interval.high - share, share - interval.low));
  }

  [[nodiscard]] std::string AtOnce(const v1::Process& process) const {
    const std::uint64_t points = PointsOf(process.concurrency());
    if (points == 0) return "";
    const std::size_t bar = std::min(
        kMostBar, options_.width > kNumbers ? (options_.width - kNumbers) / 2 : std::size_t{0});
    Table table({{"threads", Align::kRight},
                 {"running", Align::kRight, Shrink::kNever, Tone::kRunning},
                 {"", Align::kLeft, Shrink::kNever, Tone::kRunning},
                 {"wanting a CPU", Align::kRight, Shrink::kNever, Tone::kRunnable},
                 {"", Align::kLeft, Shrink::kNever, Tone::kRunnable}});
    const auto bar_of = [&](std::uint64_t part) {
      return std::string(
          static_cast<std::size_t>(std::lround(ShareOf(part, points) * static_cast<double>(bar))),
          '#');
    };
    const bool of_one = process.group_size() == 0;
    std::vector<ConcurrencyRow> rows;
    if (!options_.complete) rows = ConcurrencyRows(process.concurrency(), kLevels);
    if (options_.complete)
      for (const v1::Concurrency::Level& level : process.concurrency().levels())
        rows.push_back({level.threads(), level.threads(), level.running(), level.wanting()});
    for (const ConcurrencyRow& row : rows) {
      if (row.running == 0 && row.wanting == 0) continue;
      table.AddRow({row.first == row.last
                        ? std::to_string(row.first)
                        : std::to_string(row.first) + "-" + std::to_string(row.last),
                    PointShare(row.running, points, of_one), bar_of(row.running),
                    PointShare(row.wanting, points, of_one), bar_of(row.wanting)});
    }
    return "\n" + Faint("threads at once, shares of " + FormatCount(points, "sampling point")) +
           table.Render(options_.width, options_.palette);
  }

  // Rows of all threads, those first that want CPUs most, what is left out in one row. `cells` are
  // those in front of the number and the name. `several`: the name of the process follows.
  template <typename Cells>
  [[nodiscard]] std::string Rows(const std::string& title, std::vector<Column> columns,
                                 const Cells& cells, bool several) const {
    columns.push_back({"tid", Align::kRight});
    columns.push_back({"thread", Align::kLeft, Shrink::kMiddle});
    if (several) columns.push_back({"process", Align::kLeft, Shrink::kMiddle, Tone::kFaint});
    Table table(std::move(columns));
    const auto add = [&](const ThreadUse& use, std::vector<std::string> names) {
      std::vector<std::string> row = cells(use);
      row.insert(row.end(), names.begin(), names.end());
      table.AddRow(std::move(row));
    };
    const std::vector<std::size_t> order = ByWanted(threads_);
    const std::size_t shown = Shown(order.size(), kThreads);
    ThreadUse rest;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i >= shown) {
        rest += threads_[order[i]];
        continue;
      }
      const v1::Thread& thread = profile_.threads(static_cast<int>(order[i]));
      const bool group = thread.group_size() != 0;
      add(threads_[order[i]],
          {group ? "" : std::to_string(thread.tid()),
           SafeText(thread.comm()) + (group ? " x " + FormatCount(thread.group_size()) : ""),
           ProcessName(Process(thread.process()))});
    }
    if (shown < order.size())
      add(rest, {"", "... and " + FormatCount(order.size() - shown) + " more", ""});
    return "\n" + Faint(title) + table.Render(options_.width, options_.palette);
  }

  [[nodiscard]] std::string Shares() const {
    const ReportParts parts(all_.time);
    // In snapshot mode it is not known why a thread was runnable.
    const bool split = all_.preempted_ns != 0;
    std::vector<Column> columns;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (split && parts.name(i) == PartName(TimePart::kRunnable)) {
        columns.push_back({"woken", Align::kRight, Shrink::kNever, parts.tone(i)});
        columns.push_back({"preempted", Align::kRight, Shrink::kNever, parts.tone(i)});
      } else {
        columns.push_back({parts.name(i), Align::kRight, Shrink::kNever, parts.tone(i)});
      }
    }
    columns.push_back({"on", Align::kLeft, Shrink::kList, Tone::kBlocked});
    const auto cells = [&](const ThreadUse& use) {
      const std::uint64_t whole_ns = use.time.all().ns;
      const auto share = [&](std::uint64_t ns) { return ns == 0 ? "" : FormatShare(ns, whole_ns); };
      std::vector<std::string> row;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const SampledTime part = parts.Of(use.time, i);
        if (split && parts.name(i) == PartName(TimePart::kRunnable)) {
          row.push_back(share(use.woken_ns));
          row.push_back(share(use.preempted_ns));
        } else if (parts.name(i) == PartName(TimePart::kSpinning)) {
          row.push_back(part.ns == 0 ? "" : "~" + FormatShare(part.ns, whole_ns));
        } else {
          row.push_back(share(part.ns));
        }
      }
      row.push_back(WaitsText(use, whole_ns));
      return row;
    };
    return Rows("threads, shares of their time" +
                    std::string(split ? "; runnable: woken or preempted" : ""),
                std::move(columns), cells,
                // Below it, the reasons need the room; the number says which thread it is.
                processes_.size() > 1 && options_.width >= kWideEnough);
  }

  [[nodiscard]] static std::string WaitsText(const ThreadUse& use, std::uint64_t whole_ns) {
    std::string text;
    for (const BlockedTime& blocked : use.waits) {
      const double share = ShareOf(blocked.time.ns, whole_ns);
      if (share < kShownShare) break;
      text += (text.empty() ? "" : ", ") + std::string(WaitName(blocked.reason)) + " " +
              FormatSampledShare(share, blocked.time.rough());
    }
    return text;
  }

  [[nodiscard]] std::string Switches() const {
    // What distances there are on this host; those of a host without SMT are all to another core.
    struct Distance {
      const char* name;
      std::uint64_t DistantMoves::*count;
    };
    std::vector<Distance> distances;
    const bool counted = std::ranges::any_of(
        threads_, [](const ThreadUse& use) { return use.placement.moves.has_value(); });
    if (counted && cpus_.has_siblings()) distances.push_back({"core", &DistantMoves::core});
    if (counted && cpus_.caches() > 1) distances.push_back({"cache", &DistantMoves::cache});
    if (counted && cpus_.nodes() > 1) distances.push_back({"node", &DistantMoves::node});
    const bool siblings = all_.placement.sibling_points != 0;
    const bool nodes = cpus_.nodes() > 1 && !all_.placement.nodes.empty();

    std::vector<Column> columns = {{"voluntary", Align::kRight},
                                   {"involuntary", Align::kRight},
                                   {"migrations", Align::kRight}};
    for (const Distance& distance : distances) columns.push_back({distance.name, Align::kRight});
    if (siblings) columns.push_back({"SMT busy", Align::kRight});
    columns.push_back({"CPUs", Align::kLeft, Shrink::kList});
    if (nodes) columns.push_back({"nodes", Align::kLeft, Shrink::kList});
    const auto cells = [&](const ThreadUse& use) {
      std::vector<std::string> row{RateText(use.voluntary, use), RateText(use.involuntary, use),
                                   RateText(use.migrations, use)};
      const auto& moves = use.placement.moves;
      for (const Distance& distance : distances)
        row.push_back(moves ? RateText((*moves).*distance.count, use) : "-");
      if (siblings) row.push_back(BusyText(use.placement));
      row.push_back(CpuList(use.cpus));
      if (nodes) row.push_back(NodesText(use.placement));
      return row;
    };
    std::string title = distances.empty() ? "threads, switches and migrations per second"
                                          : "switches and migrations per second";
    for (std::size_t i = 0; i < distances.size(); ++i)
      title += (i == 0                     ? ", to another "
                : i + 1 < distances.size() ? ", "
                                           : " or ") +
               std::string(distances[i].name);
    title += distances.empty() ? "; CPUs on which samples saw them" : "; CPUs seen";
    return Rows(title, std::move(columns), cells,
                processes_.size() > 1 && (distances.empty() || options_.width >= kWideEnough));
  }

  [[nodiscard]] std::string Hardware() const {
    if (!HasCounts(profile_)) return "";
    const auto cells = [](const ThreadUse& use) {
      return std::vector<std::string>{FormatRate(use.counts.gigahertz()),
                                      FormatRate(use.counts.instructions_per_cycle()),
                                      FormatRate(use.counts.cycles_per_instruction()),
                                      FormatRate(use.counts.misses_per_thousand())};
    };
    return Rows("threads, hardware counters; misses: cache misses per 1,000 instructions",
                {{"GHz", Align::kRight},
                 {"IPC", Align::kRight},
                 {"CPI", Align::kRight},
                 {"misses", Align::kRight}},
                cells, processes_.size() > 1);
  }

  [[nodiscard]] static std::string RateText(std::uint64_t count, const ThreadUse& use) {
    constexpr double kSecond = 1e9;
    if (count == 0) return "";
    return FormatDecimals(static_cast<double>(count) * kSecond /
                              static_cast<double>(std::max<std::uint64_t>(use.elapsed_ns, 1)),
                          1);
  }

  [[nodiscard]] static std::string BusyText(const Placement& placement) {
    const auto share = BusyShare(placement);
    return share ? "~" + FormatShare(*share) : "-";
  }

  // "0 ~75.0 %, 1 ~25.0 %".
  [[nodiscard]] static std::string NodesText(const Placement& placement) {
    std::uint64_t all = 0;
    for (const auto& node : placement.nodes) all += node.second;
    std::string text;
    for (const auto& [node, ns] : placement.nodes)
      text += (text.empty() ? "" : ", ") + std::to_string(node) + " ~" + FormatShare(ns, all);
    return text;
  }

  [[nodiscard]] std::string Notes() const {
    std::string text;
    const auto add = [&](const std::string& note) {
      text += CutMiddle("note    " + note, options_.width) + "\n";
    };
    bool counted = false;
    std::uint64_t unknown = 0;
    for (const v1::Process& process : profile_.processes()) {
      counted = counted || process.has_concurrency();
      unknown += process.concurrency().unknown_points();
    }
    if (!counted) add("not known how many threads ran at once: " + NoConcurrencyText(profile_));
    if (unknown != 0)
      add(FormatCount(unknown, "sampling point") + " left out: a sample may be missing there");
    if (const std::string missing = NoPlacementText(profile_); !missing.empty()) add(missing);
    if (options_.counters || profile_.has_hardware_counters()) {
      if (const std::string missing = NoCountsText(profile_); !missing.empty()) add(missing);
    } else if (profile_.no_hardware_counters()) {
      add("no hardware counters here");
    }
    return text.empty() ? "" : "\n" + text;
  }

  const v1::Profile& profile_;
  const ThreadsOptions& options_;
  const std::uint64_t length_ns_;
  const CpuMap cpus_;
  const std::vector<ThreadUse> threads_;
  const std::vector<ThreadUse> processes_;
  const std::vector<ThreadAdvice> advice_;
  ThreadUse all_;
};

}  // namespace

std::string RenderThreads(const v1::Profile& profile, const ThreadsOptions& options) {
  return Screen(profile, options).Text();
}

}  // namespace profd::client
