#include "client/screens/list/group_table.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "client/profile/profile_facts.h"
#include "client/profile/stack_names.h"
#include "client/screens/summary/thread_rows.h"
#include "client/text/number.h"
#include "client/text/table.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

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
  row.user = UserName(process);
  row.unit = process.unit();
  row.container = process.container();
  row.labels = {process.labels().begin(), process.labels().end()};
}

// "cc1 x 412" for a group of short-lived ones.
std::string NameOf(const GroupRow& row, GroupKey key) {
  const std::size_t members = key == GroupKey::kProcess  ? row.processes
                              : key == GroupKey::kThread ? row.threads
                                                         : 1;
  return members > 1 ? row.name + " x " + std::to_string(members) : row.name;
}

std::string Number(std::uint32_t number) { return number == 0 ? "" : std::to_string(number); }

// As docker shows it.
std::string ShortId(const std::string& container) {
  constexpr std::size_t kIdDigits = 64;
  constexpr std::size_t kShown = 12;
  return container.size() == kIdDigits ? container.substr(0, kShown) : container;
}

std::string LabelIn(const GroupRow& row, const char* name) {
  const auto label = row.labels.find(name);
  return label == row.labels.end() ? std::string() : label->second;
}

// "" where it is what the row or its unit is called anyway.
std::string NewName(const GroupRow& row, const char* name) {
  std::string value = LabelIn(row, name);
  if (value == row.name || value + ".service" == row.unit) value.clear();
  return value;
}

}  // namespace

std::vector<GroupRow> GroupRows(const v1::Profile& profile, GroupKey key) {
  const std::vector<ThreadRow> threads = EachThread(profile);
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
    const ThreadRow& times = threads[static_cast<std::size_t>(i)];
    row.threads += MembersOf(thread);
    processes[place->second].insert(thread.process());
    row.elapsed_ns += times.elapsed_ns;
    row.on_cpu_ns += times.on_cpu_ns;
    row.spinning += times.spinning;
    row.runnable_ns += times.runnable_ns;
    row.blocked_ns += times.blocked_ns;
    row.stolen += times.stolen;
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const std::uint32_t process : processes[i])
      rows[i].processes += MembersOf(profile.processes(static_cast<int>(process)));
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
  const bool split = std::ranges::any_of(
      rows, [&](const GroupRow& row) { return IsShown(row.spinning, length_ns); });
  Table table({{std::string(NameOf(options.key)), Align::kLeft, Shrink::kMiddle},
               {"pid", Align::kRight},
               {"tid", Align::kRight},
               {"processes", Align::kRight},
               {"threads", Align::kRight},
               {split ? "working" : "running", Align::kRight},
               {"spinning", Align::kRight},
               {"stolen", Align::kRight},
               {"runnable", Align::kRight},
               {"blocked", Align::kRight},
               {"CPU time", Align::kRight},
               {"user", Align::kLeft, Shrink::kMiddle},
               {"unit", Align::kLeft, Shrink::kMiddle, Tone::kFaint},
               {"container", Align::kLeft, Shrink::kMiddle, Tone::kFaint},
               {"service", Align::kLeft, Shrink::kMiddle},
               {"pod", Align::kLeft, Shrink::kMiddle}});
  std::size_t shown = 0;
  for (const GroupRow& row : rows) {
    if (!options.complete && shown == kGroupRows) break;
    ++shown;
    const std::uint64_t running = RunningNs(row.on_cpu_ns, row.stolen, length_ns);
    table.AddRow(
        {SafeText(NameOf(row, options.key)), Number(row.pid), Number(row.tid),
         single ? "" : FormatCount(row.processes),
         options.key == GroupKey::kThread ? "" : FormatCount(row.threads),
         FormatThreads(split ? WorkingNs(running, row.spinning) : running, length_ns),
         split && IsShown(row.spinning, length_ns)
             ? FormatSampledThreads(row.spinning.ns, length_ns, row.spinning.points < kFewSamples)
             : "",
         IsShown(row.stolen, length_ns)
             ? FormatSampledThreads(row.stolen.ns, length_ns, row.stolen.spread_ns > 0)
             : "",
         FormatThreads(row.runnable_ns, length_ns), FormatThreads(row.blocked_ns, length_ns),
         FormatDuration(row.on_cpu_ns), SafeText(row.user), SafeText(row.unit),
         SafeText(ShortId(row.container)), SafeText(NewName(row, "service.name")),
         SafeText(LabelIn(row, "k8s.pod.name"))});
  }
  std::string out = options.palette.Paint(Tone::kStrong, SafeText(profile.target())) + "   " +
                    FormatDuration(length_ns) + ", " + FormatCount(ProcessCount(profile)) +
                    " processes, " + FormatCount(ThreadCount(profile)) +
                    " threads   in threads on average\n" +
                    (profile.filter().empty() ? "" : "only: " + SafeText(profile.filter()) + "\n") +
                    "\n" + table.Render(options.width, options.palette);
  if (shown < rows.size())
    out += options.palette.Paint(Tone::kFaint, "... and " + FormatCount(rows.size() - shown) +
                                                   " more; -v shows all") +
           "\n";
  return out;
}

}  // namespace profd::client
