// LiveShares: what one process or user may use of work that profd does for all.
#pragma once

#include <vector>

#include "daemon/base/clock.h"
#include "daemon/budget/share/shares.h"
#include "daemon/elf/debug/debug_download.h"
#include "daemon/python/feed/code_backfill.h"
#include "daemon/python/feed/python_service.h"
#include "daemon/symbolize/live/jit_symbols.h"

namespace profd::app {

// Those that user space keeps, but of mappings and stacks, which the source keeps. Any thread.
// Owner: LiveDaemon.
struct LiveShares {
  // `clock` must outlive this.
  explicit LiveShares(const Clock& clock)
      : jit(clock),
        python_code(clock),
        debug_files(PROFD_SHARE_DEBUG_FILES, elf::DebugDownload::kShareOfUser, clock),
        python_searches(PROFD_SHARE_PYTHON_SEARCHES, python::PythonService::kSearchesOfUser,
                        clock) {}

  // Who was beyond one.
  [[nodiscard]] std::vector<budget::BeyondShare> Beyond() const;

  symbolize::JitShares jit;
  python::CodeShares python_code;
  budget::Shares debug_files;
  budget::Shares python_searches;
};

}  // namespace profd::app
