#include "daemon/python/merge/python_report.h"

namespace profd::python {

PythonReport Describe(const python::PythonStatus& status, const python::MergeCounters& counters) {
  PythonReport report;
  report.attached = status.attached;
  for (const auto& [reason, count] : status.waiting)
    report.waiting.push_back({"python_waiting", reason, count});
  for (const auto& [reason, count] : status.refused)
    report.refused.push_back({"python_refused", reason, count});
  report.stacks = counters.stacks.value();
  report.not_merged = counters.failed.value();
  report.cut = counters.cut.value();
  report.names_stale = counters.stale.value();
  report.names_unknown = counters.unknown.value();
  return report;
}

}  // namespace profd::python
