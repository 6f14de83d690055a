#include "daemon/replay/target_selector.h"

#include <algorithm>
#include <string>

namespace profd::replay {

bool TargetSelector::Lists(std::uint32_t id) const {
  return std::ranges::find(target_.ids, id) != target_.ids.end();
}

bool TargetSelector::Matches(const wire::EventHeader& header,
                             const process::ProcessTable& table) const {
  const auto info = table.Info(header.process);
  switch (target_.kind) {
    case session::TargetKind::kAll:
      return true;
    case session::TargetKind::kPids:
      // The caller may have named the pid that the process has in its innermost pid namespace.
      return Lists(header.process.pid) ||
             (info && !info->namespace_pids.empty() && Lists(info->namespace_pids.back()));
    case session::TargetKind::kTids:
      return Lists(header.thread.tid);
    case session::TargetKind::kComm:
      return (info && info->comm == target_.name) ||
             table.ThreadComm(header.thread) == target_.name;
    case session::TargetKind::kCgroup:
      // The target has a path with the mount point, the recording one without it.
      return info && !info->cgroup.empty() && target_.name.ends_with(info->cgroup);
  }
  return false;
}

bool TargetSelector::Takes(const wire::Event& event, const process::ProcessTable& table) {
  const auto& header = wire::HeaderOf(event);
  // What a recorded session has watched is of no process, and who wakes may be any.
  if (std::holds_alternative<wire::StepSourceEvent>(event) ||
      std::holds_alternative<wire::WakeEvent>(event))
    return true;
  bool takes = Matches(header, table);
  if (!target_.children) return takes;
  if (const auto* fork = std::get_if<wire::ForkEvent>(&event)) {
    takes = takes || members_.contains({fork->parent_pid, fork->parent_process_start_ns});
  }
  if (takes) members_.insert(header.process);
  return takes || members_.contains(header.process);
}

}  // namespace profd::replay
