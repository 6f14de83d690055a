#include "client/screens/list/group_table.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "client/profile/profile_facts.h"
#include "client/text/number.h"
#include "client/text/table.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

double Part(std::uint64_t ns, std::uint64_t of_ns) {
  return of_ns == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(of_ns);
}

struct Times {
  std::uint64_t on_cpu_ns = 0;
  std::uint64_t runnable_ns = 0;
  std::uint64_t blocked_ns = 0;
};

Times ClockTimes(const v1::ThreadClock& clock) {
  return {clock.on_cpu_ns(),
          clock.runnable_after_wakeup_ns() + clock.runnable_after_preemption_ns() +
              clock.runnable_after_yield_ns(),
          clock.blocked_interruptible_ns() + clock.blocked_uninterruptible_ns() +
              clock.blocked_iowait_ns()};
}

// Of threads without a clock what their samples add up to.
std::vector<Times> SampledTimes(const v1::Profile& profile) {
  std::vector<Times> times(static_cast<std::size_t>(profile.threads_size()));
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    Times& of = times[samples.thread(i)];
    if (samples.state(i) == v1::STATE_ON_CPU) of.on_cpu_ns += samples.weight_ns(i);
    if (samples.state(i) == v1::STATE_RUNNABLE) of.runnable_ns += samples.weight_ns(i);
    if (samples.state(i) == v1::STATE_BLOCKED) of.blocked_ns += samples.weight_ns(i);
  }
  return times;
}

// Two processes of one name and number may have lived one after the other.
using Key = std::tuple<std::string, std::uint64_t>;

Key KeyOf(const v1::Profile& profile, const v1::Thread& thread, GroupKey key) {
  std::uint64_t start_ns = 0;
  if (key == GroupKey::kThread) start_ns = thread.start_ns();
  if (key == GroupKey::kProcess)
    start_ns = profile.processes(static_cast<int>(thread.process())).start_ns();
  return {GroupOf(profile, thread, key), start_ns};
}

void Describe(GroupRow& row, const v1::Process& process, const v1::Thread& thread, GroupKey key) {
  if (key != GroupKey::kProcess && key != GroupKey::kThread) return;
  row.name = key == GroupKey::kProcess ? process.comm() : thread.comm();
  row.pid = process.pid();
  if (key == GroupKey::kThread) row.tid = thread.tid();
  row.user = !process.user().empty() || !process.has_uid() ? process.user()
                                                           : std::to_string(process.uid());
  row.unit = process.unit();
  row.container = process.container();
}

std::string Number(std::uint32_t number) { return number == 0 ? "" : std::to_string(number); }

// As docker shows it.
std::string ShortId(const std::string& container) {
  constexpr std::size_t kIdDigits = 64;
  constexpr std::size_t kShown = 12;
  return container.size() == kIdDigits ? container.substr(0, kShown) : container;
}

}  // namespace

std::vector<GroupRow> GroupRows(const v1::Profile& profile, GroupKey key) {
  const std::vector<Times> sampled = SampledTimes(profile);
  std::map<Key, std::size_t> places;
  std::vector<GroupRow> rows;
  std::vector<std::set<std::uint32_t>> processes;
  for (int i = 0; i < profile.threads_size(); ++i) {
    const v1::Thread& thread = profile.threads(i);
    const auto [place, added] = places.try_emplace(KeyOf(profile, thread, key), rows.size());
    if (added) {
      GroupRow& made = rows.emplace_back();
      made.name = GroupOf(profile, thread, key);
      Describe(made, profile.processes(static_cast<int>(thread.process())), thread, key);
      processes.emplace_back();
    }
    GroupRow& row = rows[place->second];
    const Times times =
        thread.clock_missing() ? sampled[static_cast<std::size_t>(i)] : ClockTimes(thread.clock());
    ++row.threads;
    processes[place->second].insert(thread.process());
    row.elapsed_ns += LengthNs(thread);
    row.on_cpu_ns += times.on_cpu_ns;
    row.runnable_ns += times.runnable_ns;
    row.blocked_ns += times.blocked_ns;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].processes = processes[i].size();
  std::ranges::sort(rows, [](const GroupRow& a, const GroupRow& b) {
    return std::tuple(b.on_cpu_ns, a.name, a.pid, a.tid) <
           std::tuple(a.on_cpu_ns, b.name, b.pid, b.tid);
  });
  return rows;
}

std::string RenderGroups(const v1::Profile& profile, const GroupTableOptions& options) {
  const std::vector<GroupRow> rows = GroupRows(profile, options.key);
  const std::uint64_t length_ns = LengthNs(profile);
  const bool single = options.key == GroupKey::kProcess || options.key == GroupKey::kThread;
  Table table({{std::string(NameOf(options.key)), Align::kLeft, Shrink::kMiddle},
               {"pid", Align::kRight},
               {"tid", Align::kRight},
               {"processes", Align::kRight},
               {"threads", Align::kRight},
               {"running", Align::kRight},
               {"runnable", Align::kRight},
               {"blocked", Align::kRight},
               {"CPU time", Align::kRight},
               {"user", Align::kLeft, Shrink::kMiddle},
               {"unit", Align::kLeft, Shrink::kMiddle, Tone::kFaint},
               {"container", Align::kLeft, Shrink::kMiddle, Tone::kFaint}});
  std::size_t shown = 0;
  for (const GroupRow& row : rows) {
    if (!options.complete && shown == kGroupRows) break;
    ++shown;
    table.AddRow({SafeText(row.name), Number(row.pid), Number(row.tid),
                  single ? "" : FormatCount(row.processes),
                  options.key == GroupKey::kThread ? "" : FormatCount(row.threads),
                  FormatShare(Part(row.on_cpu_ns, length_ns)),
                  FormatShare(Part(row.runnable_ns, length_ns)),
                  FormatShare(Part(row.blocked_ns, row.elapsed_ns)), FormatDuration(row.on_cpu_ns),
                  SafeText(row.user), SafeText(row.unit), SafeText(ShortId(row.container))});
  }
  std::string out = options.palette.Paint(Tone::kStrong, SafeText(profile.target())) + "   " +
                    FormatDuration(length_ns) + ", " +
                    FormatCount(static_cast<std::uint64_t>(profile.processes_size())) +
                    " processes, " +
                    FormatCount(static_cast<std::uint64_t>(profile.threads_size())) +
                    " threads\n\n" + table.Render(options.width, options.palette);
  if (shown < rows.size())
    out += options.palette.Paint(Tone::kFaint, "... and " + FormatCount(rows.size() - shown) +
                                                   " more; -v shows all") +
           "\n";
  return out;
}

}  // namespace profd::client
