#include <algorithm>
#include <numeric>

#include "client/commands/health/doctor_checks.h"
#include "client/profile/profile_facts.h"
#include "client/screens/summary/summary.h"
#include "client/screens/symbols/module_rows.h"
#include "client/text/number.h"
#include "client/text/text.h"
#include "daemon/base/python_versions.h"

namespace profd::client {
namespace {

constexpr std::size_t kMostModules = 5;
constexpr double kMuchBare = 0.05;  // of the code without unwind information
constexpr double kManyEnds = 0.01;  // of the samples; fewer stacks that end early are no finding

std::string Texts(const google::protobuf::RepeatedPtrField<v1::NamedCount>& counts) {
  std::string text;
  for (const v1::NamedCount& count : counts) {
    if (count.count() == 0) continue;
    text += (text.empty() ? "" : ", ") + FormatCount(count.count()) + " " +
            (count.text().empty() ? count.name() : count.text());
  }
  return text;
}

Finding Hook(const v1::StatusResponse& status) {
  if (!status.replay_file().empty())
    return {"hook", Verdict::kUnknown, "this profd replays " + status.replay_file(), ""};
  const std::string why = status.hook_reason().empty() ? "" : ": " + status.hook_reason();
  if (status.hook().starts_with("none"))
    return {"hook", Verdict::kWarn, "waits are sampled, not measured: snapshot mode" + why,
            "a kernel with sched_exit_tp (6.15) or kprobes"};
  return {"hook", Verdict::kOk, status.hook() + why, ""};
}

Finding Losses(const v1::StatusResponse& status) {
  const std::string lost = Texts(status.lost());
  if (lost.empty()) return {"losses", Verdict::kOk, "0 samples", ""};
  return {"losses", Verdict::kWarn, lost, "a lower rate (-F), or fewer sessions at once"};
}

Finding Interpreters(const v1::PythonStatus& python) {
  const std::string attached = FormatCount(python.attached()) + " processes understood";
  const std::string refused = Texts(python.refused());
  if (!refused.empty())
    return {"Python", Verdict::kWarn, attached + "; not: " + refused,
            "CPython " + PythonVersionRange() + " with a GIL shows its Python frames"};
  const std::string waiting = Texts(python.waiting());
  return {"Python", Verdict::kOk, attached + (waiting.empty() ? "" : "; not yet: " + waiting), ""};
}

Finding History(const v1::StatusResponse& status) {
  if (!status.has_history())
    return {"history", Verdict::kOk, "none is kept (profd --history-directory keeps one)", ""};
  const v1::HistoryStatus& history = status.history();
  if (!history.last_error().empty())
    return {"history", Verdict::kWarn, history.last_error(),
            "see the log of profd, and the disk of " + history.path()};
  if (history.windows_lost() > 0)
    return {"history", Verdict::kWarn,
            FormatCount(history.windows_lost()) + " windows lost: the disk is too slow",
            "a faster disk for " + history.path()};
  const std::string mode = history.observed() ? "snapshot mode, nothing runs at a context switch"
                                              : "hooks, at each context switch";
  return {
      "history", Verdict::kOk,
      FormatCount(history.windows()) + " windows, " + FormatBytes(history.bytes()) + "; " + mode,
      ""};
}

Finding Python(const v1::Process& process) {
  if (!process.python_refused().empty())
    return {"Python", Verdict::kWarn,
            "CPython " + process.python() + ", without Python frames: " + process.python_refused(),
            "CPython " + PythonVersionRange() + " with a GIL shows its Python frames"};
  if (process.python().empty()) return {"Python", Verdict::kOk, "no CPython interpreter in it", ""};
  return {"Python", Verdict::kOk, "CPython " + process.python() + " is understood", ""};
}

std::string PathOf(const ModuleRow& row) {
  if (row.path.empty()) return "memory without a file";
  return row.program.empty() ? row.path : row.path + " (" + row.program + ")";
}

void Names(const v1::Profile& profile, const std::map<std::string, std::string>& packages,
           std::vector<Finding>& findings) {
  std::uint64_t frames = 0;
  std::uint64_t named = 0;
  const std::vector<ModuleRow> rows = ModuleRows(profile);
  for (const ModuleRow& row : rows) {
    frames += row.frames;
    named += row.named;
  }
  findings.push_back({"symbols", Verdict::kOk,
                      FormatCount(named) + " of " + FormatCount(frames) + " frames have names",
                      ""});
  std::size_t reported = 0;
  for (const ModuleRow& row : rows) {
    if (row.unnamed.empty() || reported++ == kMostModules) break;  // most unnamed first
    const auto reasons = ReasonsOf(row);
    const auto package = packages.find(row.path);
    findings.push_back({"symbols", Verdict::kWarn,
                        PathOf(row) + ": " + FormatCount(row.unnamed.size()) + " of " +
                            FormatCount(row.frames) + " frames have none" +
                            (reasons.empty() ? "" : ": " + reasons.front().first),
                        package != packages.end() ? "apt install " + package->second
                                                  : "profctl symbols says what was tried"});
  }
}

Finding Stacks(const v1::Profile& profile) {
  std::uint64_t early = 0;
  std::string why;
  for (const ModuleRow& row : ModuleRows(profile))
    for (const auto& [reason, samples] : row.ends) {
      early += samples;
      if (why.find(reason) == std::string::npos) why += (why.empty() ? "" : ", ") + reason;
    }
  const auto& counts = profile.samples().count();
  const auto all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  const double share = all == 0 ? 0 : static_cast<double>(early) / static_cast<double>(all);
  if (share <= kManyEnds) return {"stacks", Verdict::kOk, BasisText(profile), ""};
  return {"stacks", Verdict::kWarn, FormatShare(share) + " of them end early: " + why,
          "code without unwind information needs frame pointers: -fno-omit-frame-pointer"};
}

// Code without unwind information, of which some got rules.
void Code(const v1::Profile& profile, std::vector<Finding>& findings) {
  std::uint64_t covered = 0;
  std::uint64_t bare = 0;
  const v1::Module* least = nullptr;
  for (const v1::Module& module : profile.modules()) {
    covered += module.code_covered_bytes();
    bare += module.code_bare_bytes();
    if (least == nullptr || module.code_bare_bytes() > least->code_bare_bytes()) least = &module;
  }
  if (covered + bare == 0) return;
  std::string text = FormatShare(covered, covered + bare) + " of " + FormatBytes(covered + bare) +
                     " without unwind information has rules made from the code";
  if (bare > 0) {
    text += "; most without: " +
            (least->path().empty() ? "memory without a file" : SafeText(least->path())) + ", " +
            FormatBytes(least->code_bare_bytes());
    const auto most = std::ranges::max_element(least->code_refused(), {}, &v1::NamedCount::count);
    if (most != least->code_refused().end())
      text += " (" + FormatCount(most->count(), "function") + ": " + SafeText(most->text()) + ")";
  }
  const bool much = ShareOf(bare, covered + bare) > kMuchBare;
  findings.push_back({"code", much ? Verdict::kWarn : Verdict::kOk, text,
                      much ? "profctl symbols says why the rest has none" : ""});
}

void FramePointers(const v1::Profile& profile, std::vector<Finding>& findings) {
  const StackFacts facts = StackFactsOf(profile);
  if (facts.by_frame_pointer == 0) return;
  const std::string found = FramePointerText(facts) + " " + kFramePointerMeans;
  if (facts.many_by_frame_pointer())
    findings.push_back(
        {"stacks", Verdict::kWarn, found,
         "-fasynchronous-unwind-tables; code made at run time needs frame pointers"});
  else
    findings.push_back({"stacks", Verdict::kOk, found, ""});
}

// What readers could not read.
Finding Unreadable(const v1::StatusResponse& status) {
  std::string found = status.unreadable(0);
  if (status.unreadable_size() > 1)
    found += ", and " + FormatCount(static_cast<std::uint64_t>(status.unreadable_size() - 1)) +
             " more: profctl status";
  return {"readers", Verdict::kWarn, found,
          "see whether its file system answers, or what it maps; its frames may lack names or end "
          "early"};
}

// What runtimes of containers say; a line that begins with a path is of one that does not answer.
void Containers(const v1::StatusResponse& status, std::vector<Finding>& findings) {
  for (const std::string& line : status.container_runtimes()) {
    if (!line.starts_with('/')) {
      findings.push_back({"containers", Verdict::kOk, SafeText(line), ""});
      continue;
    }
    const auto says = [&line](std::string_view words) {
      return line.find(words) != std::string::npos;
    };
    const std::string socket = SafeText(line.substr(0, line.find(": ")));
    std::string fix = "see whether the runtime runs: systemctl status containerd, crio or k3s";
    if (says("Permission denied"))
      fix =
          "systemctl edit profd: [Unit] After=containerd.service PartOf=containerd.service, "
          "[Service] ExecStartPre=+setfacl -m u:profd:rw " +
          socket + "; who may use that socket controls the host (deploy/SECURITY.md)";
    else if (says("does not speak CRI"))
      fix =
          "the runtime must serve CRI v1: take \"cri\" out of disabled_plugins in containerd's "
          "config.toml";
    findings.push_back({"containers", Verdict::kWarn,
                        SafeText(line) +
                            "; processes in its containers have no names of pods, namespaces and "
                            "images",
                        fix});
  }
}

}  // namespace

std::vector<Finding> CheckStatus(const v1::StatusResponse& status) {
  std::vector<Finding> findings{Hook(status)};
  if (!status.split().empty())
    findings.push_back({"clocks", Verdict::kOk,
                        "runnable and blocked are split by " + status.split() +
                            ", on-CPU samples by " + status.on_cpu_clock(),
                        ""});
  if (!status.hardware_counters().empty())
    findings.push_back({"counters", Verdict::kOk, status.hardware_counters(), ""});
  for (const v1::MissingCapability& missing : status.missing_capabilities())
    findings.push_back({"rights", Verdict::kWarn,
                        missing.name() + " is missing; not to be seen: " + missing.cost(),
                        "AmbientCapabilities=" + missing.name() + " in profd.service, or root"});
  if (status.missing_capabilities().empty() && status.replay_file().empty())
    findings.push_back({"rights", Verdict::kOk, "none is missing", ""});
  findings.push_back(Losses(status));
  for (const std::string& part : status.degraded())
    findings.push_back({"profd", Verdict::kWarn, part,
                        "its log says more; `systemctl restart profd` if a thread is stuck"});
  if (status.unreadable_size() > 0) findings.push_back(Unreadable(status));
  findings.push_back(Interpreters(status.python()));
  Containers(status, findings);
  findings.push_back(History(status));
  return findings;
}

std::vector<Finding> CheckSamples(const v1::Profile& profile,
                                  const std::map<std::string, std::string>& packages) {
  if (profile.threads_size() == 0 || profile.processes_size() == 0)
    return {{"process", Verdict::kFail, "no thread of it was seen", "see what runs: ps -e"}};
  std::vector<Finding> findings{
      {"process", Verdict::kOk,
       ProfileTitle(profile) + ", " +
           FormatCount(static_cast<std::uint64_t>(profile.threads_size())) +
           (profile.threads_size() == 1 ? " thread" : " threads"),
       ""}};
  findings.push_back(Stacks(profile));
  Code(profile, findings);
  FramePointers(profile, findings);
  Names(profile, packages, findings);
  findings.push_back(Python(profile.processes(0)));
  return findings;
}

}  // namespace profd::client
