// SessionBackend: what sessions run on, a live kernel or a recording.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/aggregate/counter_report.h"
#include "daemon/aggregate/profile.h"
#include "daemon/base/result.h"
#include "daemon/budget/governor.h"
#include "daemon/budget/memory_guard.h"
#include "daemon/pipeline/session.h"
#include "daemon/python/merge/python_report.h"
#include "daemon/session/session_control.h"

namespace profd::pipeline {

struct BackendStatus {
  session::SourceStatus source;
  std::vector<NamedCount> lost;      // since start, by the kernel side and all stages
  std::vector<NamedCount> counters;  // the other counters
  // The same by kind, with those that are zero: for machines.
  aggregate::CounterReport by_kind;
  std::vector<NamedCount> gauges;  // what goes up and down: unwind tables
  python::PythonReport python;
  budget::BudgetStatus budget;
  std::optional<budget::MemoryStatus> memory;  // nothing: there is no cap
  std::string replay_file;
  std::string recording_file;
};

// All methods may be called from any thread.
class SessionBackend {
 public:
  virtual ~SessionBackend() = default;
  // Sessions end by themselves only when a recording does. The id is given by the caller.
  [[nodiscard]] virtual Result<std::shared_ptr<Session>> Start(
      std::uint32_t id, const session::SessionSpec& spec) = 0;
  // Ends a session whose BeginEnd() the caller has won; it finishes soon after, whatever happens.
  virtual void End(const std::shared_ptr<Session>& session) = 0;
  // Whether a session's duration is that of its recording, whatever was asked for.
  [[nodiscard]] virtual bool EndsByItself() const = 0;
  [[nodiscard]] virtual BackendStatus Status() const = 0;
};

}  // namespace profd::pipeline
