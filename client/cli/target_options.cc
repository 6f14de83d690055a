#include "client/cli/target_options.h"

#include <utility>

#include "client/cli/values.h"

namespace profd::client {
namespace {

constexpr std::size_t kCommBytes = 15;  // what the kernel keeps of a program's name

Result<void> ParseIdLists(const RawTarget& raw, v1::Target& target) {
  std::vector<std::uint32_t> ids;
  for (const std::string& text : raw.pids) PROFD_TRY(ParseIds("-p", text, ids));
  for (const std::string& text : raw.tids) PROFD_TRY(ParseIds("-t", text, ids));
  v1::Target::Ids* list = nullptr;
  if (!raw.pids.empty()) list = target.mutable_pids();
  if (!raw.tids.empty()) list = target.mutable_tids();
  if (list != nullptr) list->mutable_id()->Add(ids.begin(), ids.end());
  return {};
}

}  // namespace

int RawTarget::kinds() const {
  return static_cast<int>(!pids.empty()) + static_cast<int>(!tids.empty()) + static_cast<int>(all) +
         static_cast<int>(!comm.empty()) + static_cast<int>(!cgroup.empty()) +
         static_cast<int>(!service.empty() || !labels.empty());
}

void AddIds(Command& command, RawTarget& raw) {
  command.Add({.group = kTargetGroup,
               .names = "-p,--pid",
               .into = &raw.pids,
               .value = "PID[,PID]...",
               .help = "these processes",
               .offer = Offer::kPids});
  command.Add({.group = kTargetGroup,
               .names = "-t,--tid",
               .into = &raw.tids,
               .value = "TID[,TID]...",
               .help = "these threads"});
}

void AddTarget(Command& command, RawTarget& raw) {
  AddIds(command, raw);
  command.Add({.group = kTargetGroup,
               .names = "-a,--all",
               .into = &raw.all,
               .help = "all processes of the host"});
  command.Add({.group = kTargetGroup,
               .names = "--comm",
               .into = &raw.comm,
               .value = "NAME",
               .help = "processes whose program is called NAME",
               .more = "15 bytes of NAME are compared: the kernel keeps no more.",
               .offer = Offer::kPrograms});
  command.Add({.group = kTargetGroup,
               .names = "--cgroup",
               .into = &raw.cgroup,
               .value = "PATH",
               .help = "processes in a cgroup: a directory below /sys/fs/cgroup",
               .more = "PATH may be written with /sys/fs/cgroup or without it.",
               .offer = Offer::kFolders});
}

void AddService(Command& command, RawTarget& raw) {
  command.Add({.group = kTargetGroup,
               .names = "--service",
               .into = &raw.service,
               .value = "NAME",
               .help = kServiceHelp});
}

void AddLabels(Command& command, RawTarget& raw) {
  command.Add({.group = kTargetGroup,
               .names = "--label",
               .into = &raw.labels,
               .value = "NAME=VALUE",
               .help = "processes that have a label at the begin: k8s.pod.name=cart-*",
               .more = "The names are OpenTelemetry's: service.name, service.version, "
                       "k8s.pod.name, container.id, systemd.unit, process.executable.name ... All "
                       "names that are given must match; of one name, one of its values. * and ? "
                       "stand for any text."});
}

void AddChildren(Command& command, RawTarget& raw) {
  command.Add({.group = kWhatGroup,
               .names = "-s,--children",
               .into = &raw.children,
               .help = "also processes that the target starts"});
}

void AddKernelThreads(Command& command, RawTarget& raw) {
  command.Add({.group = kWhatGroup,
               .names = "--kernel-threads",
               .into = &raw.kernel_threads,
               .help = "with -a and --comm: threads of the kernel, too"});
}

Result<v1::Target> ParseTarget(const RawTarget& raw, bool has_command, const char* other) {
  v1::Target target;
  const int given = raw.kinds() + (has_command ? 1 : 0);
  const std::string targets =
      std::string(
          "name one of -p PID, -t TID, -a, --comm NAME, --cgroup PATH, --service NAME, "
          "--label NAME=VALUE and ") +
      other;
  if (given == 0) return Usage("nothing to collect: no target is named", targets);
  if (given > 1) return Usage("more than one kind of target is named", targets);
  PROFD_TRY(ParseIdLists(raw, target));
  if (raw.all) target.set_all(true);
  if (!raw.comm.empty()) target.set_comm(raw.comm.substr(0, kCommBytes));
  if (!raw.cgroup.empty()) target.set_cgroup(raw.cgroup);
  if (!raw.service.empty())
    target.mutable_labels()->add_label(std::string(kServiceLabel) + "=" + raw.service);
  for (const std::string& label : raw.labels) {
    PROFD_TRY(CheckLabel(label));
    target.mutable_labels()->add_label(label);
  }
  if (raw.children && raw.no_children)
    return Usage("--children and --no-children contradict each other", "leave one out");
  target.set_children(raw.children || (has_command && !raw.no_children));
  if (raw.kernel_threads && !raw.all && raw.comm.empty())
    return Usage("--kernel-threads needs -a or --comm", "a thread of the kernel is named with -p");
  target.set_kernel_threads(raw.kernel_threads);
  return target;
}

Result<v1::Target> ParseIdTarget(const RawTarget& raw) {
  const std::string name = "name -p PID or -t TID";
  if (raw.pids.empty() && raw.tids.empty())
    return Usage("nothing to dump: no process is named", name);
  if (!raw.pids.empty() && !raw.tids.empty())
    return Usage("both processes and threads are named", name);
  v1::Target target;
  PROFD_TRY(ParseIdLists(raw, target));
  return target;
}

}  // namespace profd::client
