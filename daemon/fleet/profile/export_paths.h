// ExportPaths: the paths of a profile without what only its host knows: no pids, tids and times.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/base/keys.h"
#include "daemon/fleet/profile/equal_rows.h"
#include "daemon/fleet/profile/export_profile.h"
#include "daemon/fleet/profile/relabelling.h"

namespace profd::fleet {

// Job: numbers the paths that samples use, in the order of their use. Threads whose process the
// rules leave out have no name here, nor has what comes behind them; nor have threads of processes
// that the profile does not have, where a rule may leave them out. Thread: one. Owner:
// MakeExportProfile.
class ExportPaths {
 public:
  // `labels_of`: of each process of the profile, null for those that are left out. `threads` are
  // the names of the export profile, `paths` its paths. All outlive this.
  ExportPaths(const aggregate::Profile& profile, const std::vector<const Labels*>& labels_of,
              const Relabelling& relabelling, Numbering<std::string>& threads,
              std::vector<ExportPath>& paths);

  // 1 + index into the paths; 0: none is known. `waiter`: index of its process.
  [[nodiscard]] std::uint32_t Of(std::uint32_t path, std::uint32_t waiter);

 private:
  struct Thread {
    ProcessKey process;
    bool hidden = false;
    std::uint32_t name = 0;  // 1 + index
    std::string service;
  };

  [[nodiscard]] ExportPath Make(std::uint32_t path, const ProcessKey& waiter) const;

  const aggregate::Profile& profile_;
  std::vector<Thread> threads_;  // by index into path_threads
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known_;
  Numbering<ExportPath> numbers_;
};

}  // namespace profd::fleet
