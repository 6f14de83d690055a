#include "daemon/fleet/profile/labels.h"

#include <cstddef>
#include <string>

#include "daemon/aggregate/process_labels.h"
#include "daemon/base/utf8.h"

namespace profd::fleet {
namespace {

constexpr std::size_t kMaxValueBytes = 1024;

void Set(Labels& labels, const char* name, std::string_view value) {
  if (!value.empty()) labels[name] = ValidUtf8(value.substr(0, kMaxValueBytes));
}

}  // namespace

Labels LabelsOf(const aggregate::ProfileProcess& process, std::string_view host) {
  Labels labels = aggregate::ProcessLabels(process, host);
  if (process.group_size == 0) Set(labels, "__process.pid", std::to_string(process.shown_pid));
  Set(labels, "__process.command_line", process.command_line);
  Set(labels, "__process.comm", process.comm);
  Set(labels, "__process.executable.path", process.executable);
  Set(labels, "__process.cgroup", process.cgroup);
  Set(labels, "__process.parent", process.parent);
  if (process.owner.uid) Set(labels, "__process.owner.uid", std::to_string(*process.owner.uid));
  return labels;
}

}  // namespace profd::fleet
