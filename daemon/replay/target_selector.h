// TargetSelector: which recorded events belong to the target of a session.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "daemon/base/keys.h"
#include "daemon/process/process_table.h"
#include "daemon/session/session_control.h"
#include "daemon/wire/event.h"

namespace profd::replay {

// Job: filters the events of a replay, as the BPF side does on a live kernel. It must get all
// events in order of time, because it learns from them which processes are children. Thread: one.
// Owner: the function that runs the replay.
class TargetSelector {
 public:
  explicit TargetSelector(session::Target target) : target_(std::move(target)) {}

  [[nodiscard]] bool Takes(const wire::Event& event, const process::ProcessTable& table);

 private:
  [[nodiscard]] bool Matches(const wire::EventHeader& header,
                             const process::ProcessTable& table) const;
  [[nodiscard]] bool Lists(std::uint32_t id) const;

  const session::Target target_;
  std::unordered_set<ProcessKey> members_;  // of targets that take children
};

}  // namespace profd::replay
