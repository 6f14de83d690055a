#include "daemon/fleet/profile/export_paths.h"

#include <algorithm>

#include "daemon/base/utf8.h"

namespace profd::fleet {

using aggregate::PathKind;
using aggregate::PathNode;

ExportPaths::ExportPaths(const aggregate::Profile& profile,
                         const std::vector<const Labels*>& labels_of,
                         const Relabelling& relabelling, Numbering<std::string>& threads,
                         std::vector<ExportPath>& paths)
    : profile_(profile), numbers_(paths) {
  std::unordered_map<ProcessKey, std::size_t> process_of;
  for (std::size_t i = 0; i < profile.processes.size(); ++i)
    process_of.emplace(profile.processes[i].key, i);
  for (const aggregate::PathThread& from : profile.path_threads) {
    Thread thread{.process = from.process, .service = {}};
    const auto process = process_of.find(from.process);
    const bool known = process != process_of.end();
    thread.hidden = known ? labels_of[process->second] == nullptr : relabelling.MayDrop();
    if (!thread.hidden) thread.name = threads(ValidUtf8(from.comm)) + 1;
    if (known && !thread.hidden) {
      const Labels& labels = *labels_of[process->second];
      if (const auto service = labels.find("service.name"); service != labels.end())
        thread.service = service->second;
    }
    threads_.push_back(std::move(thread));
  }
}

std::uint32_t ExportPaths::Of(std::uint32_t path, std::uint32_t waiter) {
  if (path == 0 || path >= profile_.paths.size()) return 0;
  const auto [known, added] = known_.try_emplace({path, waiter}, 0);
  if (added) known->second = numbers_(Make(path, profile_.processes[waiter].key)) + 1;
  return known->second;
}

ExportPath ExportPaths::Make(std::uint32_t path, const ProcessKey& waiter) const {
  std::vector<const PathNode*> nodes;
  for (; path != 0 && path < profile_.paths.size(); path = profile_.paths[path].parent)
    nodes.push_back(&profile_.paths[path]);
  std::ranges::reverse(nodes);
  ExportPath made;
  for (const PathNode* node : nodes) {
    const bool named = node->thread != 0 && node->thread <= threads_.size();
    const Thread thread = named ? threads_[node->thread - 1] : Thread();
    if (thread.hidden) {
      made.push_back({.kind = PathKind::kOtherUser});
      break;
    }
    made.push_back(
        {.kind = node->kind,
         .how = node->how,
         .wait = node->kind == PathKind::kWaits ? node->wait : process::WaitReason::kNone,
         .estimated = node->kind == PathKind::kRuns && node->estimated,
         .own = named && thread.process == waiter,
         .thread = thread.name,
         .node = node->node,
         .service = thread.service});
  }
  return made;
}

}  // namespace profd::fleet
