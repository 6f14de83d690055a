#include "client/profile/grouping.h"

#include <array>
#include <map>
#include <utility>

#include "client/profile/host_names.h"
#include "client/profile/stack_names.h"

namespace profd::client {
namespace {

constexpr std::array<std::pair<std::string_view, GroupKey>, 11> kNames{{
    {"process", GroupKey::kProcess},
    {"thread", GroupKey::kThread},
    {"comm", GroupKey::kComm},
    {"unit", GroupKey::kUnit},
    {"container", GroupKey::kContainer},
    {"user", GroupKey::kUser},
    {"cgroup", GroupKey::kCgroup},
    {"host", GroupKey::kHost},
    {"service", GroupKey::kService},
    {"pod", GroupKey::kPod},
    {"namespace", GroupKey::kNamespace},
}};

std::string LabelOf(const v1::Process& process, const char* name) {
  const auto label = process.labels().find(name);
  return label == process.labels().end() ? std::string() : label->second;
}

std::string NameIn(const v1::Process& process, const v1::Thread& thread, GroupKey key) {
  switch (key) {
    case GroupKey::kThread:
      return ThreadName(thread);
    case GroupKey::kComm:
      return process.comm();
    case GroupKey::kUnit:
      return process.unit();
    case GroupKey::kContainer:
      return process.container();
    case GroupKey::kUser:
      return UserName(process);
    case GroupKey::kCgroup:
      return process.cgroup();
    case GroupKey::kService:
      return LabelOf(process, "service.name");
    case GroupKey::kPod:
      return LabelOf(process, "k8s.pod.name");
    case GroupKey::kNamespace:
      return LabelOf(process, "k8s.namespace.name");
    case GroupKey::kHost:
    case GroupKey::kProcess:
      break;
  }
  return ProcessName(process);
}

}  // namespace

Result<GroupKey> ParseGroupKey(std::string_view text) {
  for (const auto& [name, key] : kNames)
    if (name == text) return key;
  return Error{ErrorCode::kInvalidArgument, "there is no grouping by " + std::string(text),
               "group by process, thread, comm, unit, container, user, cgroup, service, pod, "
               "namespace or host"};
}

std::string_view NameOf(GroupKey key) {
  for (const auto& [name, of] : kNames)
    if (of == key) return name;
  return "";
}

std::string GroupOf(const v1::Profile& profile, const v1::Thread& thread, GroupKey key) {
  const v1::Process& process = profile.processes(static_cast<int>(thread.process()));
  if (key == GroupKey::kHost) return HostName(profile, process);
  const std::string name = NameIn(process, thread, key);
  return name.empty() ? "[no " + std::string(NameOf(key)) + "]" : name;
}

v1::Profile GroupBy(const v1::Profile& profile, GroupKey key) {
  v1::Profile grouped = profile;
  if (key == GroupKey::kProcess) return grouped;
  grouped.clear_processes();
  std::map<std::string, std::uint32_t> places;
  for (int i = 0; i < profile.threads_size(); ++i) {
    const v1::Thread& thread = profile.threads(i);
    const auto [place, added] = places.try_emplace(
        GroupOf(profile, thread, key), static_cast<std::uint32_t>(grouped.processes_size()));
    if (added) grouped.add_processes()->set_comm(place->first);
    grouped.mutable_threads(i)->set_process(place->second);
  }
  return grouped;
}

}  // namespace profd::client
