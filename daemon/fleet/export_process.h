// ExportProcess: the process that sends the history away, beside the daemon.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/fleet/profile/settings.h"
#include "daemon/fleet/shared_text.h"
#include "daemon/fleet/status.h"
#include "daemon/rules/rule_set.h"

namespace profd::fleet {

struct ExportPlan {
  std::vector<ExportSettings> exports;
  rules::RuleSetRef rules;     // null: nothing is spinning
  std::string host;            // in names of files
  std::string history;         // the file; its folder has the folder of exports, too
  std::uint64_t grace_ns = 0;  // see store::TailOptions
};

// Job: two processes that are forked before the daemon has a thread, and have nothing of it but the
// plan: profd-exports, which starts the other one again when it ends, and profd-export, which has a
// thread for each export. They have the lowest priority, no capability, a limit to their address
// space, a tenth of a CPU for each export, and end with the daemon, or first where memory is short.
// Thread: main() starts it; Status() any. Owner: main().
//
// The daemon gives them nothing while it runs: they read the file of the history, and what they say
// of themselves is a text in shared memory.
class ExportProcess {
 public:
  // Call it while the process has one thread.
  [[nodiscard]] static Result<std::unique_ptr<ExportProcess>> Start(const ExportPlan& plan);
  ExportProcess(const ExportProcess&) = delete;
  ExportProcess& operator=(const ExportProcess&) = delete;
  ~ExportProcess();

  // One for each export, in the order of the plan.
  [[nodiscard]] std::vector<ExportStatus> Status() const;
  // Why nothing is exported: "profd-export has ended 3 times, the last time by signal 6 (Aborted)";
  // "": all is well.
  [[nodiscard]] std::string Trouble() const;

 private:
  ExportProcess(SharedText status, SharedText trouble)
      : status_(std::move(status)), trouble_(std::move(trouble)) {}

  std::vector<ExportStatus> planned_;  // before the process says anything
  SharedText status_;
  SharedText trouble_;
  pid_t pid_ = 0;
  UniqueFd handle_;  // pidfd
};

}  // namespace profd::fleet
