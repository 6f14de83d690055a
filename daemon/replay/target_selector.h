// TargetSelector: which recorded events belong to the target of a session.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemon/base/keys.h"
#include "daemon/process/process_table.h"
#include "daemon/session/session_control.h"
#include "daemon/store/api/filter.h"
#include "daemon/wire/event.h"

namespace profd::replay {

// Job: filters the events of a replay, as the BPF side does on a live kernel. It must get all
// events in order of time, because it learns from them which processes are children. A process with
// labels is taken from when they are known: a recording has what processes say of themselves, not
// what runtimes of containers say of them. Thread: one. Owner: the function that runs the replay.
class TargetSelector {
 public:
  // `host`: that of the recording, the value of host.name.
  TargetSelector(session::Target target, std::string host);

  [[nodiscard]] bool Takes(const wire::Event& event, const process::ProcessTable& table);

 private:
  [[nodiscard]] bool Matches(const wire::EventHeader& header, const process::ProcessTable& table);
  [[nodiscard]] bool HasLabels(const process::ProcessInfoRef& info);
  [[nodiscard]] bool Lists(std::uint32_t id) const;

  struct Judged {
    process::ProcessInfoRef info;
    bool takes = false;
  };

  const session::Target target_;
  const std::string host_;
  const std::vector<store::Filter::Label> labels_;  // of targets of labels
  std::unordered_map<ProcessKey, Judged> judged_;   // the same
  std::unordered_set<ProcessKey> members_;          // of targets that take children
};

}  // namespace profd::replay
