#include "daemon/fleet/tables/fleet_paths.h"

#include <algorithm>
#include <utility>

#include "daemon/fleet/tables/content_hash.h"
#include "daemon/fleet/tables/thread_group.h"
#include "daemon/process/wait_reason.h"

namespace profd::fleet {

std::uint64_t FleetPathHash(const std::vector<FleetStep>& steps, bool estimated) {
  ContentHash content;
  content.Number(estimated ? 1 : 0);
  for (const FleetStep& step : steps) {
    content.Number(static_cast<std::uint64_t>(step.kind));
    content.Number(static_cast<std::uint64_t>(step.how));
    content.Text(process::WaitReasonName(step.wait));
    content.Text(step.thread);
    content.Text(step.service);
    content.Number(step.own ? 1 : 0);
    content.Number(step.stack);
  }
  return std::max<std::uint64_t>(content.Hash(), 1);
}

std::uint32_t FleetPaths::Of(std::uint32_t path) {
  if (path == 0 || path > profile_.paths.size()) return 0;
  if (const auto known = profile_paths_.find(path); known != profile_paths_.end())
    return known->second;
  FleetPath made;
  for (const ExportStep& step : profile_.paths[path - 1]) {
    made.steps.push_back({.kind = step.kind, .how = step.how, .wait = step.wait, .own = step.own});
    if (step.thread != 0) {
      made.steps.back().thread = ThreadGroup(profile_.threads[step.thread - 1]);
      made.steps.back().service = step.service;
    }
    if (step.node == 0) continue;
    made.stacks.push_back(stacks_.OfNode(step.node));
    made.steps.back().stack = stacks_.all()[made.stacks.back()].hash;
    made.estimated = made.estimated || step.estimated;
  }
  const std::uint32_t number = Add(std::move(made));
  profile_paths_.emplace(path, number);
  return number;
}

std::uint32_t FleetPaths::WithoutStacks(std::uint32_t number) {
  if (number == 0 || all_[number - 1].stacks.empty()) return number;
  if (const auto known = without_stacks_.find(number); known != without_stacks_.end())
    return known->second;
  FleetPath made{.steps = all_[number - 1].steps, .stacks = {}};
  for (FleetStep& step : made.steps) step.stack = 0;
  const std::uint32_t without = Add(std::move(made));
  without_stacks_.emplace(number, without);
  return without;
}

std::uint32_t FleetPaths::Add(FleetPath path) {
  path.hash = FleetPathHash(path.steps, path.estimated);
  const auto [known, added] =
      numbers_.emplace(path.hash, static_cast<std::uint32_t>(all_.size() + 1));
  if (added) all_.push_back(std::move(path));
  return known->second;
}

}  // namespace profd::fleet
