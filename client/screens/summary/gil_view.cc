#include "client/screens/summary/gil_view.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/profile/profile_facts.h"
#include "client/profile/spinning.h"
#include "client/profile/stack_names.h"
#include "client/screens/summary/thread_rows.h"
#include "client/text/number.h"
#include "client/text/table.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::size_t kMaxProcesses = 4;
constexpr std::size_t kMaxThreads = 8;
constexpr std::size_t kMaxRefused = 8;
constexpr double kShownShare = 0.0005;  // what FormatShare does not round to nothing

struct Amount {
  std::uint64_t ns = 0;
  std::uint64_t points = 0;
  std::uint64_t exact_ns = 0;

  Amount& operator+=(const Amount& other) {
    ns += other.ns;
    points += other.points;
    exact_ns += other.exact_ns;
    return *this;
  }
  Amount& operator-=(const Amount& part) {
    ns -= part.ns;
    points -= part.points;
    exact_ns -= part.exact_ns;
    return *this;
  }
};

// Of one thread, or of all threads of a process.
struct GilTimes {
  std::array<Amount, v1::State_ARRAYSIZE> held;  // by state
  Amount spinning;                               // of what is held on a CPU
  Amount waited;
  Amount unknown;
  bool python = false;  // it has a thread state, or may have one
  std::uint64_t elapsed_ns = 0;

  [[nodiscard]] Amount Held() const {
    Amount sum;
    for (const Amount& amount : held) sum += amount;
    return sum;
  }
  [[nodiscard]] std::uint64_t Busy() const { return Held().ns + waited.ns; }
  GilTimes& operator+=(const GilTimes& other) {
    for (std::size_t i = 0; i < held.size(); ++i) held[i] += other.held[i];
    spinning += other.spinning;
    waited += other.waited;
    unknown += other.unknown;
    python = python || other.python;
    return *this;
  }
};

std::vector<GilTimes> TimesOfThreads(const v1::Profile& profile) {
  std::vector<GilTimes> times(static_cast<std::size_t>(profile.threads_size()));
  for (std::size_t i = 0; i < times.size(); ++i) {
    times[i].elapsed_ns = LengthNs(profile.threads(static_cast<int>(i)));
  }
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    const v1::Gil gil = GilOf(samples, i);
    if (gil == v1::GIL_NONE) continue;
    GilTimes& thread = times[samples.thread(i)];
    thread.python = true;
    const Amount amount{samples.weight_ns(i), samples.count(i),
                        samples.exact(i) ? samples.weight_ns(i) : 0};
    if (gil == v1::GIL_HELD) thread.held[static_cast<std::size_t>(samples.state(i))] += amount;
    if (gil == v1::GIL_HELD && IsSpinning(profile, i)) thread.spinning += amount;
    if (gil == v1::GIL_WAITED) thread.waited += amount;
    if (gil == v1::GIL_UNKNOWN) thread.unknown += amount;
  }
  return times;
}

// Empty where nothing is shown of it.
std::string Share(const Amount& amount, std::uint64_t elapsed_ns) {
  const double share = ShareOf(amount.ns, elapsed_ns);
  if (share < kShownShare) return "";
  return FormatSampledShare(share, IsRough(amount.ns, amount.points, amount.exact_ns));
}

std::string ShareOrZero(const Amount& amount, std::uint64_t elapsed_ns) {
  const std::string share = Share(amount, elapsed_ns);
  return share.empty() ? FormatShare(0) : share;
}

struct ProcessTimes {
  std::uint32_t process = 0;
  std::vector<std::uint32_t> threads;  // that Python knows
  GilTimes times;

  [[nodiscard]] double HeldShare() const {
    return static_cast<double>(times.Held().ns) /
           static_cast<double>(std::max<std::uint64_t>(times.elapsed_ns, 1));
  }
};

// "GIL of python3 (4242), CPython 3.12.1: held 35 %"; of processes that share name and version.
std::string Title(const v1::Profile& profile, std::span<const ProcessTimes> alike) {
  const v1::Process& who = profile.processes(static_cast<int>(alike.front().process));
  std::size_t members = 0;
  for (const ProcessTimes& times : alike)
    members += MembersOf(profile.processes(static_cast<int>(times.process)));
  std::string title = "GIL of " + SafeText(who.comm());
  title += members == 1 ? " (" + std::to_string(who.pid()) + ")" : " x " + std::to_string(members);
  if (who.python() != "?" && !who.python().empty()) title += ", CPython " + SafeText(who.python());
  const auto [least, most] = std::ranges::minmax_element(alike, {}, &ProcessTimes::HeldShare);
  const std::string low = ShareOrZero(least->times.Held(), least->times.elapsed_ns);
  const std::string high = ShareOrZero(most->times.Held(), most->times.elapsed_ns);
  return title + ": held " + (low == high ? high : low + " to " + high);
}

std::string Line(const std::string& text, const SummaryOptions& options) {
  return "\n" + options.palette.Paint(Tone::kFaint, CutMiddle(text, options.width)) + "\n";
}

// No thread waited for it and at most one held it: a table would say nothing more.
bool IsQuiet(const v1::Profile& profile, const ProcessTimes& process,
             const std::vector<GilTimes>& threads) {
  const auto is_shown = [&](std::uint32_t thread) {
    return !Share(threads[thread].Held(), process.times.elapsed_ns).empty();
  };
  return !profile.only_gil() && Share(process.times.waited, process.times.elapsed_ns).empty() &&
         std::ranges::count_if(process.threads, is_shown) <= 1;
}

// One process: a line and a row a thread.
std::string Block(const v1::Profile& profile, const ProcessTimes& process,
                  const std::vector<GilTimes>& threads, const SummaryOptions& options) {
  std::string title = Title(profile, {&process, 1});
  if (!profile.only_gil())
    title += ", threads waited " + FormatDuration(process.times.waited.ns) + " for it";
  title += ", by samples";
  const bool split = !Share(process.times.spinning, process.times.elapsed_ns).empty();
  Table table({{"thread", Align::kLeft, Shrink::kMiddle, Tone::kStrong},
               {"tid", Align::kRight},
               {"held", Align::kRight},
               {split ? "working" : "running", Align::kRight, Shrink::kNever, Tone::kRunning},
               {"spinning", Align::kRight, Shrink::kNever, Tone::kWarning},
               {"runnable", Align::kRight, Shrink::kNever, Tone::kRunnable},
               {"blocked", Align::kRight, Shrink::kNever, Tone::kBlocked},
               {"waited", Align::kRight, Shrink::kNever, Tone::kBlocked},
               {"not known", Align::kRight}});
  std::vector<std::uint32_t> order = process.threads;
  std::ranges::stable_sort(order, std::greater<>{},
                           [&](std::uint32_t thread) { return threads[thread].Busy(); });
  const std::size_t shown = options.complete ? order.size() : std::min(order.size(), kMaxThreads);
  for (std::size_t i = 0; i < shown; ++i) {
    const v1::Thread& thread = profile.threads(static_cast<int>(order[i]));
    const GilTimes& times = threads[order[i]];
    const auto held = [&](v1::State state) {
      return Share(times.held[static_cast<std::size_t>(state)], times.elapsed_ns);
    };
    Amount working = times.held[v1::STATE_ON_CPU];
    if (split) working -= times.spinning;
    const bool group = thread.group_size() != 0;
    table.AddRow({SafeText(group ? ThreadName(thread) : thread.comm()),
                  group ? "" : std::to_string(thread.tid()),
                  ShareOrZero(times.Held(), times.elapsed_ns), Share(working, times.elapsed_ns),
                  split ? Share(times.spinning, times.elapsed_ns) : "", held(v1::STATE_RUNNABLE),
                  held(v1::STATE_BLOCKED), Share(times.waited, times.elapsed_ns),
                  Share(times.unknown, times.elapsed_ns)});
  }
  std::string out = Line(title, options) + table.Render(options.width, options.palette);
  if (shown == order.size()) return out;
  GilTimes rest;
  for (std::size_t i = shown; i < order.size(); ++i) rest += threads[order[i]];
  const std::size_t more = order.size() - shown;
  return out + "and " + FormatCount(more, "more thread") + ": held " +
         FormatDuration(rest.Held().ns) + ", waited " + FormatDuration(rest.waited.ns) + "\n";
}

std::string Refusals(const v1::Profile& profile, const SummaryOptions& options) {
  std::string out;
  std::size_t refused = 0;
  for (const v1::Process& process : profile.processes()) {
    if (process.python_refused().empty()) continue;
    if (++refused > kMaxRefused && !options.complete) continue;
    const std::string who = process.group_size() != 0 ? SafeText(ProcessName(process))
                                                      : "PID " + std::to_string(process.pid()) +
                                                            " (" + SafeText(process.comm()) + ")";
    const std::string line = "python: " + who + ": " + SafeText(process.python_refused());
    out += options.palette.Paint(Tone::kWarning, CutMiddle(line, options.width)) + "\n";
  }
  if (refused > kMaxRefused && !options.complete)
    out += "and " + FormatCount(refused - kMaxRefused) +
           " more Python processes whose frames are not shown\n";
  return out.empty() ? out : "\n" + out;
}

std::vector<ProcessTimes> TimesOfProcesses(const v1::Profile& profile,
                                           const std::vector<GilTimes>& threads) {
  std::vector<ProcessTimes> processes(static_cast<std::size_t>(profile.processes_size()));
  for (std::uint32_t i = 0; i < threads.size(); ++i) {
    const v1::Thread& thread = profile.threads(static_cast<int>(i));
    ProcessTimes& process = processes[thread.process()];
    process.process = thread.process();
    // The GIL can be held only while a thread lives: the longest life is the time that can have it.
    process.times.elapsed_ns = std::max(process.times.elapsed_ns, threads[i].elapsed_ns);
    if (!threads[i].python) continue;
    process.threads.push_back(i);
    process.times += threads[i];
  }
  std::erase_if(processes, [&](const ProcessTimes& process) {
    return process.threads.empty() ||
           !profile.processes(static_cast<int>(process.process)).python_refused().empty();
  });
  std::ranges::stable_sort(processes, std::greater<>{},
                           [](const ProcessTimes& process) { return process.times.Busy(); });
  return processes;
}

// A line for all quiet ones of one program.
std::string QuietLines(const v1::Profile& profile, const std::vector<ProcessTimes>& quiet,
                       const SummaryOptions& options) {
  std::vector<std::vector<ProcessTimes>> groups;
  const auto who = [&](const ProcessTimes& process) {
    const v1::Process& one = profile.processes(static_cast<int>(process.process));
    return std::pair{one.comm(), one.python()};
  };
  for (const ProcessTimes& process : quiet) {
    const auto group = std::ranges::find_if(
        groups, [&](const auto& alike) { return who(alike.front()) == who(process); });
    if (group == groups.end())
      groups.push_back({process});
    else
      group->push_back(process);
  }
  std::string out;
  for (std::size_t i = 0; i < std::min(groups.size(), kMaxProcesses); ++i)
    out += Line(Title(profile, groups[i]) + (groups[i].size() == 1 ? "" : " each") +
                    ", no thread waited for it, by samples",
                options);
  if (groups.size() > kMaxProcesses)
    out += "and " + FormatCount(groups.size() - kMaxProcesses) + " more programs like these\n";
  return out;
}

}  // namespace

std::string RenderGil(const v1::Profile& profile, const SummaryOptions& options) {
  const std::vector<GilTimes> threads = TimesOfThreads(profile);
  std::vector<ProcessTimes> processes = TimesOfProcesses(profile, threads);
  std::vector<ProcessTimes> quiet;
  if (!options.complete) {
    const auto is_loud = [&](const ProcessTimes& process) {
      return !IsQuiet(profile, process, threads);
    };
    const auto rest = std::ranges::stable_partition(processes, is_loud);
    quiet.assign(rest.begin(), rest.end());
    processes.erase(rest.begin(), rest.end());
  }
  std::string out = Refusals(profile, options);
  const std::size_t shown =
      options.complete ? processes.size() : std::min(processes.size(), kMaxProcesses);
  for (std::size_t i = 0; i < shown; ++i) out += Block(profile, processes[i], threads, options);
  if (shown < processes.size()) {
    GilTimes rest;
    for (std::size_t i = shown; i < processes.size(); ++i) rest += processes[i].times;
    out += "\nand " + FormatCount(processes.size() - shown) + " more Python processes: GILs held " +
           FormatDuration(rest.Held().ns) + ", waited for " + FormatDuration(rest.waited.ns) + "\n";
  }
  return out + QuietLines(profile, quiet, options);
}

}  // namespace profd::client
