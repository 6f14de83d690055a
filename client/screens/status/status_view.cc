#include "client/screens/status/status_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "client/profile/profile_facts.h"
#include "client/text/number.h"
#include "client/text/table.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

double PerSecond(std::uint64_t amount, std::uint64_t ns) {
  return ns == 0 ? 0 : static_cast<double>(amount) * 1e9 / static_cast<double>(ns);
}

std::string Reasons(const google::protobuf::RepeatedPtrField<v1::NamedCount>& counts) {
  std::uint64_t total = 0;
  std::string reasons;
  for (const v1::NamedCount& count : counts) {
    total += count.count();
    if (count.count() > 0)
      reasons +=
          (reasons.empty() ? "" : ", ") + SafeText(count.name()) + " " + FormatCount(count.count());
  }
  return FormatCount(total) + (reasons.empty() ? "" : "   " + reasons);
}

std::uint64_t Note(const v1::StatusResponse& status, std::string_view name) {
  for (const v1::NamedCount& count : status.counters())
    if (count.name() == name) return count.count();
  return 0;
}

// Of the time in BPF programs, that for samples; the rest is for clocks.
std::uint64_t StacksNs(const v1::StatusResponse& status) {
  return std::min<std::uint64_t>(status.bpf_ns(), Note(status, "stacks_ns"));
}

std::string Clock(const v1::StatusResponse& status) {
  if (status.switches() == 0) return "kernel accounting: no hook has run";
  const auto rate =
      static_cast<std::uint64_t>(std::llround(PerSecond(status.switches(), status.up_ns())));
  return FormatDuration((status.bpf_ns() - StacksNs(status)) / status.switches()) + " a switch, " +
         FormatCount(rate) + " switches/s, split by " + SafeText(status.split());
}

std::string Cpu(const v1::StatusResponse& status) {
  return FormatShare(ShareOf(status.daemon_cpu_ns(), status.up_ns())) + " of one CPU, " +
         FormatShare(ShareOf(status.bpf_ns(), status.up_ns())) + " in BPF programs";
}

// What the unwind tables hold; "" for a daemon that has none.
std::string Tables(const v1::StatusResponse& status) {
  const std::uint64_t cap = Note(status, "unwind_cap");
  if (cap == 0) return "";
  return FormatBytes(Note(status, "unwind_memory")) + " of " + FormatBytes(cap) + ", " +
         FormatCount(Note(status, "unwind_files")) + " files, " +
         FormatCount(Note(status, "unwind_rows")) + " rows, " +
         FormatCount(Note(status, "unwind_evictions")) + " evictions";
}

// What has no tables, or lost them, by reason; "" when there is nothing to say.
std::string RefusedTables(const v1::StatusResponse& status) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kReasons{{
      {"unwind_no_tables", "files without unwind tables"},
      {"unwind_damaged", "damaged entries"},
      {"unwind_changed", "files changed"},
      {"unwind_gone", "mappings gone"},
      {"unwind_crowded", "chunks without room"},
      {"unwind_cut", "blocks cut"},
      {"unwind_queue_full", "requests dropped"},
  }};
  std::string text;
  for (const auto& [name, words] : kReasons)
    if (const std::uint64_t count = Note(status, name); count != 0)
      text += (text.empty() ? "refused: " : ", ") + FormatCount(count) + " " + std::string(words);
  return text;
}

// Processes with an interpreter.
std::string Interpreters(const v1::PythonStatus& python) {
  return FormatCount(python.attached()) + " attached, " + FormatCount(SumOf(python.waiting())) +
         " waiting, " + FormatCount(SumOf(python.refused())) + " refused";
}

// "" where no stack had Python frames yet.
std::string PythonStacks(const v1::PythonStatus& python) {
  if (python.stacks() == 0) return "";
  return FormatCount(python.stacks()) + " stacks: " +
         FormatCount(python.stacks() - std::min(python.stacks(), python.not_merged())) +
         " merged, " + FormatCount(python.not_merged()) + " not merged, " +
         FormatCount(python.cut()) + " cut; names: " + FormatCount(python.names_stale()) +
         " stale" +
         (python.names_unknown() == 0 ? ""
                                      : ", " + FormatCount(python.names_unknown()) + " unknown");
}

// "" while nothing limits what is sampled. `of`: for whom. Fits into 80 columns.
std::string Sampling(const v1::SamplingStatus& budget, const std::string& of) {
  if (!budget.limited()) return "";
  const auto raised = [](double factor) { return "x " + FormatFactor(factor); };
  const bool on_cpu = budget.on_cpu_factor() > 1;
  const bool off_cpu = budget.off_cpu_factor() > 1;
  std::string text = of + " " + FormatShare(budget.spent_cpus()) + " of " +
                     FormatShare(budget.budget_cpus()) + " of one CPU";
  if (on_cpu || off_cpu) text += ", periods ";
  if (off_cpu) text += raised(budget.off_cpu_factor()) + (on_cpu ? " off-, " : " off-CPU");
  if (on_cpu) text += raised(budget.on_cpu_factor()) + " on-CPU";
  return text;
}

// "" while exact clocks cost less than they may, or would.
std::string HooksRefused(const v1::BudgetStatus& budget) {
  if (!budget.hooks_refused()) return "";
  return "clocks need " + FormatShare(budget.clock_needed_cpus()) + " of one CPU, more than " +
         FormatShare(budget.clock_limit_cpus()) + ": snapshot mode";
}

// "118 MiB of 256 MiB (maps 44.0 MiB)"; of a replay, what is resident.
std::string Memory(const v1::StatusResponse& status) {
  const auto& memory = status.memory();
  const std::string maps = FormatBytes(status.map_bytes());
  if (!status.has_memory())
    return FormatBytes(status.memory_bytes()) + " resident, " + maps + " maps and rings";
  return FormatBytes(memory.used_bytes()) + " of " + FormatBytes(memory.cap_bytes()) + " (maps " +
         maps + "), at most " + FormatBytes(memory.peak_bytes()) +
         (memory.dropping() ? ": near the cap, samples are dropped" : "");
}

// What holds most of it; "" unless some of it had to be given up.
std::string Holders(const v1::MemoryStatus& memory) {
  if (memory.reclaim_requested_bytes() == 0) return "";
  std::vector<const v1::MemoryStatus::Holder*> holders;
  for (const auto& holder : memory.holders()) holders.push_back(&holder);
  std::ranges::stable_sort(holders, std::greater<>(),
                           [](const auto* holder) { return holder->bytes(); });
  constexpr std::size_t kShown = 4;
  std::string text = "requested back: " + FormatBytes(memory.reclaim_requested_bytes());
  for (std::size_t i = 0; i < std::min(kShown, holders.size()); ++i)
    text += (i == 0 ? "; now " : ", ") + SafeText(holders[i]->name()) + " " +
            FormatBytes(holders[i]->bytes());
  return text;
}

// "412 MiB of 1 GiB, 6 d 2 h of 7 d 0 h, 19 Hz in windows of 10.0 s".
std::string History(const v1::HistoryStatus& history) {
  std::string text;
  if (!history.path().empty()) text = FormatBytes(history.bytes());
  if (history.limit_bytes() != 0) text += " of " + FormatBytes(history.limit_bytes());
  if (!text.empty()) text += ", ";
  const bool any = history.windows() != 0 && history.last_unix_ns() > history.first_unix_ns();
  text += any ? FormatSpan(history.last_unix_ns() - history.first_unix_ns()) : "nothing yet";
  if (history.limit_ns() != 0) text += " of " + FormatSpan(history.limit_ns());
  if (history.on_cpu_period_ns() == 0) return text + ", and nothing is collected for it now";
  const auto hz = std::llround(1e9 / static_cast<double>(history.on_cpu_period_ns()));
  return text + ", " + std::to_string(hz) + " Hz in windows of " +
         FormatDuration(history.window_ns());
}

// How the history sees waits. Fits into 80 columns.
std::string HistoryMode(const v1::StatusResponse& status) {
  if (!status.history().observed()) return "hooks: each wait is measured at its context switches";
  return "snapshot mode: nothing runs at a context switch; " + SafeText(status.observers());
}

// Why it cannot use snapshot mode; "" where it does, or an operator has chosen hooks.
std::string WhyNotObserved(const v1::StatusResponse& status) {
  const bool none = status.observers().starts_with("no observers");
  return none && !status.history().observed() ? SafeText(status.observers()) : "";
}

// "" when all is well.
std::string HistoryTrouble(const v1::HistoryStatus& history) {
  std::string text;
  const std::uint64_t lost = history.windows_lost() + history.failed_puts();
  if (lost != 0) text = "windows lost: " + FormatCount(lost);
  if (!history.last_error().empty())
    text += (text.empty() ? "" : ", ") + SafeText(history.last_error());
  return text;
}

// "store: 12 sent, 1.2 MiB; 1 wait, 0.1 MiB of 256 MiB; retries 3; to clickhouse://db/profd".
std::string Export(const v1::ExportStatus& one) {
  std::string text = SafeText(one.name()) + ": " + FormatCount(one.sent()) + " sent, " +
                     FormatBytes(one.sent_bytes()) + "; " + FormatCount(one.spool_profiles()) +
                     " wait, " + FormatBytes(one.spool_bytes()) + " of " +
                     FormatBytes(one.spool_limit_bytes());
  if (one.retries() != 0) text += "; retries " + FormatCount(one.retries());
  return text + "; to " + SafeText(one.to());
}

// What the receiver will never have, by cause; "" for nothing.
std::string ExportGaps(const v1::ExportStatus& one) {
  std::string text;
  for (const v1::NamedCount& gap : one.gaps_ns())
    text += (text.empty() ? "  never sent: " : ", ") + FormatDuration(gap.count()) + " " +
            SafeText(gap.name());
  return text;
}

std::string Notes(const v1::StatusResponse& status, std::size_t width) {
  Table table({{"count", Align::kRight, Shrink::kNever, Tone::kPlain},
               {"counter", Align::kLeft, Shrink::kNever, Tone::kPlain},
               {"what it counts", Align::kLeft, Shrink::kMiddle, Tone::kFaint}});
  for (const auto& counts : {status.lost(), status.counters()})
    for (const v1::NamedCount& count : counts)
      table.AddRow({FormatCount(count.count()), SafeText(count.name()), SafeText(count.text())});
  return table.Render(width, Palette());
}

std::string Session(const v1::SessionStatus& session) {
  std::string time = FormatDuration(session.elapsed_ns());
  time += session.duration_ns() == 0 ? ", until stopped"
                                     : " of " + FormatDuration(session.duration_ns());
  return std::to_string(session.id()) + ": " + SafeText(session.target()) + ", " + time + ", " +
         FormatCount(session.samples()) + " samples" +
         (session.client().empty() ? "" : ", for " + SafeText(session.client()));
}

// What a line is about, and what it says; a line that says nothing is left out.
using Lines = std::vector<std::pair<std::string, std::string>>;

void AddPython(const v1::StatusResponse& status, Lines& lines) {
  if (!status.has_python() || !status.replay_file().empty()) return;
  const v1::PythonStatus& python = status.python();
  lines.emplace_back("python", Interpreters(python));
  for (const v1::NamedCount& reason : python.refused())
    lines.emplace_back("",
                       "refused: " + FormatCount(reason.count()) + " " + SafeText(reason.text()));
  for (const v1::NamedCount& reason : python.waiting())
    lines.emplace_back("",
                       "waiting: " + FormatCount(reason.count()) + " " + SafeText(reason.text()));
  lines.emplace_back("", PythonStacks(python));
}

void AddExports(const v1::StatusResponse& status, Lines& lines) {
  for (int i = 0; i < status.exports_size(); ++i) {
    const v1::ExportStatus& one = status.exports(i);
    lines.emplace_back(i == 0 ? "exports" : "", Export(one));
    lines.emplace_back("", ExportGaps(one));
    lines.emplace_back("",
                       one.last_error().empty() ? "" : "  fails: " + SafeText(one.last_error()));
  }
}

void AddContainers(const v1::StatusResponse& status, Lines& lines) {
  for (int i = 0; i < status.container_runtimes_size(); ++i)
    lines.emplace_back(i == 0 ? "containers" : "", SafeText(status.container_runtimes(i)));
}

}  // namespace

std::string RenderStatus(const v1::StatusResponse& status, std::size_t width,
                         const Palette& palette, bool complete) {
  std::string out = palette.Paint(Tone::kStrong, "profd " + SafeText(status.version())) + ", up " +
                    FormatSpan(status.up_ns()) + ", kernel " + SafeText(status.kernel()) + "\n";
  Lines lines;
  if (!status.replay_file().empty())
    lines.emplace_back("replay", SafeText(status.replay_file()));
  else
    lines.emplace_back("clock", Clock(status));
  lines.emplace_back("", HooksRefused(status.budget()));
  for (int i = 0; i < status.missing_capabilities_size(); ++i) {
    const auto& missing = status.missing_capabilities(i);
    lines.emplace_back(i == 0 ? "missing" : "",
                       SafeText(missing.name()) + ": without it no " + SafeText(missing.cost()));
  }
  lines.emplace_back("on-CPU", SafeText(status.on_cpu_clock()) + " on " +
                                   FormatCount(status.online_cpus()) + " CPUs");
  lines.emplace_back("counters", SafeText(status.hardware_counters()));
  std::string hook = "hook " + SafeText(status.hook());
  if (!status.hook_reason().empty()) hook += " (" + SafeText(status.hook_reason()) + ")";
  if (status.replay_file().empty())
    hook += status.hooks_attached() ? ", attached" : ", attached while a session needs it";
  lines.emplace_back("off-CPU", hook);
  lines.emplace_back("snapshot", SafeText(status.snapshot()));
  lines.emplace_back("cost", Cpu(status));
  const std::string history = Sampling(status.budget().history(), "history");
  lines.emplace_back("budget", history);
  lines.emplace_back(history.empty() ? "budget" : "",
                     Sampling(status.budget().sessions(), "sessions"));
  lines.emplace_back("memory", Memory(status));
  lines.emplace_back("", Holders(status.memory()));
  lines.emplace_back("unwinding", Tables(status));
  lines.emplace_back("", RefusedTables(status));
  AddPython(status, lines);
  lines.emplace_back("lost", Reasons(status.lost()));
  if (status.has_history()) {
    lines.emplace_back("history", History(status.history()));
    lines.emplace_back("", HistoryMode(status));
    lines.emplace_back("", WhyNotObserved(status));
    lines.emplace_back("", HistoryTrouble(status.history()));
    for (const std::string& loss : status.history().losses())
      lines.emplace_back("", "at the start: " + SafeText(loss));
  }
  AddExports(status, lines);
  AddContainers(status, lines);
  for (int i = 0; i < status.degraded_size(); ++i)
    lines.emplace_back(i == 0 ? "degraded" : "", SafeText(status.degraded(i)));
  constexpr int kShownUnreadable = 5;
  for (int i = 0; i < std::min(status.unreadable_size(), kShownUnreadable); ++i)
    lines.emplace_back(i == 0 ? "unreadable" : "", SafeText(status.unreadable(i)));
  if (status.unreadable_size() > kShownUnreadable)
    lines.emplace_back(
        "", FormatCount(static_cast<std::uint64_t>(status.unreadable_size() - kShownUnreadable)) +
                " more: --json lists all");
  if (!status.recording_file().empty())
    lines.emplace_back("recording", SafeText(status.recording_file()));
  lines.emplace_back("sessions", FormatCount(static_cast<std::uint64_t>(status.sessions_size())));
  for (const v1::SessionStatus& session : status.sessions())
    lines.emplace_back("", Session(session));
  constexpr std::size_t kTopicWidth = 11;
  for (const auto& [topic, text] : lines) {
    if (text.empty()) continue;
    const std::size_t room = width > kTopicWidth ? width - kTopicWidth : 0;
    out += palette.Paint(Tone::kFaint, topic) + std::string(kTopicWidth - topic.size(), ' ') +
           CutMiddle(text, room) + "\n";
  }
  if (complete && status.lost_size() + status.counters_size() > 0)
    out += "\n" + Notes(status, width);
  return out;
}

}  // namespace profd::client
