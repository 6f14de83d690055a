#include "client/commands/common/collect_target.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "client/cli/values.h"
#include "client/text/number.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::string_view kCgroupRoot = "/sys/fs/cgroup";

std::optional<std::uint32_t> ThreadGroup(const ProcFs& proc, std::uint32_t id) {
  const Result<std::string> status = proc.Read(std::to_string(id) + "/status");
  if (!status) return std::nullopt;
  constexpr std::string_view kKey = "\nTgid:\t";
  const std::size_t at = status->find(kKey);
  std::uint32_t group = 0;
  if (at == std::string::npos) return std::nullopt;
  const char* begin = status->data() + at + kKey.size();
  if (std::from_chars(begin, status->data() + status->size(), group).ec != std::errc{})
    return std::nullopt;
  return group;
}

std::string Join(const google::protobuf::RepeatedField<std::uint32_t>& ids) {
  std::string text;
  for (const std::uint32_t id : ids) text += (text.empty() ? "" : ",") + std::to_string(id);
  return text;
}

std::string CgroupPath(const std::string& path) {
  if (path.starts_with(kCgroupRoot)) return path;
  const std::string below = std::string(kCgroupRoot) + (path.starts_with('/') ? "" : "/") + path;
  struct stat status {};
  return ::stat(below.c_str(), &status) == 0 && S_ISDIR(status.st_mode) ? below : path;
}

// 0 when it cannot be read.
std::uint32_t OwnPidNamespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? static_cast<std::uint32_t>(status.st_ino) : 0;
}

// "--service cart --label k8s.pod.name='cart-*'"
std::string LabelArguments(const v1::Target::Labels& labels) {
  const std::string name_of_service = std::string(kServiceLabel) + "=";
  std::string text;
  for (const std::string& label : labels.label()) {
    const bool service = label.starts_with(name_of_service);
    const std::string safe = SafeText(label);
    const std::size_t equals = std::min(safe.find('='), safe.size() - 1);
    const std::string value = safe.substr(equals + 1);
    const bool plain = value.find_first_of("*?'\"\\ $&|;<>()`!#~[]{}") == std::string::npos;
    text.append(text.empty() ? "" : " ")
        .append(service ? "--service " : "--label " + safe.substr(0, equals + 1))
        .append(plain ? value : "'" + value + "'");
  }
  return text;
}

// "service.name=cart, k8s.pod.name=cart-*"
std::string LabelWords(const v1::Target::Labels& labels) {
  std::string text;
  for (const std::string& label : labels.label())
    text.append(text.empty() ? "" : ", ").append(SafeText(label));
  return text;
}

}  // namespace

Result<void> CheckTarget(const v1::Target& target, const ProcFs& proc) {
  for (const std::uint32_t pid : target.pids().id()) {
    const auto group = ThreadGroup(proc, pid);
    if (!group)
      return Error{ErrorCode::kNotFound,
                   "cannot open process " + std::to_string(pid) + ": no such process",
                   "see what runs: ps -e"};
    if (*group != pid)
      return Error{ErrorCode::kNotFound,
                   "cannot open process " + std::to_string(pid) + ": it is a thread of process " +
                       std::to_string(*group),
                   "use -t " + std::to_string(pid) + ", or -p " + std::to_string(*group)};
  }
  for (const std::uint32_t tid : target.tids().id()) {
    if (!ThreadGroup(proc, tid))
      return Error{ErrorCode::kNotFound,
                   "cannot open thread " + std::to_string(tid) + ": no such thread",
                   "see what runs: ps -eL"};
  }
  return {};
}

v1::Target TargetFromHere(v1::Target target) {
  if (target.has_cgroup()) target.set_cgroup(CgroupPath(target.cgroup()));
  target.set_pidns_inode(OwnPidNamespace());
  return target;
}

v1::Target TargetOnHosts(v1::Target target) {
  if (!target.has_cgroup() || target.cgroup().starts_with(kCgroupRoot)) return target;
  const std::string& path = target.cgroup();
  target.set_cgroup(std::string(kCgroupRoot) + (path.starts_with('/') ? "" : "/") + path);
  return target;
}

std::string TargetArguments(const v1::Target& target, bool has_command) {
  std::string text;
  if (target.has_pids()) text = "-p " + Join(target.pids().id());
  if (target.has_tids()) text = "-t " + Join(target.tids().id());
  if (target.has_all()) text = "-a";
  if (target.has_comm()) text = "--comm " + SafeText(target.comm());
  if (target.has_cgroup()) text = "--cgroup " + SafeText(target.cgroup());
  if (target.has_labels()) text = LabelArguments(target.labels());
  if (!has_command && target.children()) text += " -s";
  return text;
}

std::string DescribeStarted(const v1::Target& target, bool has_command,
                            const v1::Started& started) {
  const auto threads = [&](std::string_view before) {
    return std::string(before) + FormatCount(started.threads()) +
           (started.threads() == 1 ? " thread" : " threads");
  };
  if (started.processes_size() == 1) {
    const v1::Process& process = started.processes(0);
    const std::string& name =
        process.command_line().empty() ? process.comm() : process.command_line();
    std::string text = std::to_string(process.pid()) + " (" + SafeText(name) + ")";
    if (started.threads() > 1) text += threads(" and its ");
    return text;
  }
  const std::string what = target.has_all()      ? "the whole host"
                           : target.has_comm()   ? SafeText(target.comm())
                           : target.has_cgroup() ? SafeText(target.cgroup())
                           : target.has_labels() ? LabelWords(target.labels())
                                                 : TargetArguments(target, has_command);
  return what + ", " + FormatCount(static_cast<std::uint64_t>(started.processes_size())) +
         " processes" + threads(" with ");
}

}  // namespace profd::client
