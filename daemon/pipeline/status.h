// BackendStatus: what profd knows about itself, apart from its sessions and its history.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/aggregate/counter_report.h"
#include "daemon/base/named_count.h"
#include "daemon/budget/cpu/cpu_controller.h"
#include "daemon/budget/memory/memory_controller.h"
#include "daemon/fleet/status.h"
#include "daemon/pipeline/stage_counters.h"
#include "daemon/python/merge/python_report.h"
#include "daemon/session/session_control.h"
#include "daemon/unwind/service/code_coverage.h"

namespace profd::pipeline {

struct BackendStatus {
  session::SourceStatus source;
  std::vector<NamedCount> lost;      // since start, by the BPF side and all stages; without zeros
  std::vector<NamedCount> counters;  // the other counters and gauges; without zeros
  // For /metrics: the same counters by kind, with zeros.
  aggregate::CounterReport by_kind;
  std::vector<NamedCount> gauges;
  python::PythonReport python;
  budget::CpuStatus budget;
  std::optional<budget::MemoryStatus> memory;  // nothing: a replay, which has no cap
  std::vector<fleet::ExportStatus> exports;
  std::vector<std::string> container_runtimes;  // a line each; see containers::ContainerDirectory
  std::string replay_file;
  std::string recording_file;
  std::vector<std::string> degraded;    // what of profd does not work, and why
  std::vector<std::string> unreadable;  // files and processes that cannot be read for now, and why
};

// Status() may be called from any thread.
class StatusSource {
 public:
  virtual ~StatusSource() = default;
  [[nodiscard]] virtual BackendStatus Status() const = 0;
  // None: a replay has no unwind tables.
  [[nodiscard]] virtual std::vector<unwind::CodeCoverage> Code() const { return {}; }
};

// The counters of the source, of the stages, and of all other parts (`others`).
[[nodiscard]] BackendStatus DescribeCounters(session::SourceStatus source,
                                             const StageCounters& stages, Diagnostics others);

}  // namespace profd::pipeline
