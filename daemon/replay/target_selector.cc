#include "daemon/replay/target_selector.h"

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/aggregate/process_labels.h"

namespace profd::replay {
namespace {

// Those of a target that a request names are right.
std::vector<store::Filter::Label> LabelsOf(const session::Target& target) {
  auto labels = store::ParseLabels(target.labels);
  return labels ? *std::move(labels) : std::vector<store::Filter::Label>();
}

}  // namespace

TargetSelector::TargetSelector(session::Target target, std::string host)
    : target_(std::move(target)), host_(std::move(host)), labels_(LabelsOf(target_)) {}

bool TargetSelector::HasLabels(const process::ProcessInfoRef& info) {
  if (!info) return false;
  Judged& judged = judged_[info->key];
  if (judged.takes || judged.info == info) return judged.takes;
  judged.info = info;
  aggregate::ProfileProcess process = aggregate::DescribeProcess(info->key, info.get(), false);
  aggregate::GiveLabels(info.get(), nullptr, process);
  judged.takes =
      !labels_.empty() && store::MatchesLabels(labels_, aggregate::ProcessLabels(process, host_));
  return judged.takes;
}

bool TargetSelector::Lists(std::uint32_t id) const {
  return std::ranges::find(target_.ids, id) != target_.ids.end();
}

bool TargetSelector::Matches(const wire::EventHeader& header, const process::ProcessTable& table) {
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
    case session::TargetKind::kLabels:
      return HasLabels(info);
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
