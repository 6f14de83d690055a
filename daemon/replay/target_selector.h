// TargetSelector: which recorded events a session's target takes, decided in user space.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "daemon/base/keys.h"
#include "daemon/process/process_table.h"
#include "daemon/session/session_control.h"
#include "daemon/wire/event.h"

namespace profd::replay {

// For replays, where no kernel filters. Sees all events in order of time, so that it learns which
// processes are children. Used by one thread.
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
