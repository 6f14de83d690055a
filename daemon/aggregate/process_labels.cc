#include "daemon/aggregate/process_labels.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "daemon/base/files.h"
#include "daemon/base/proc/maps_parser.h"
#include "daemon/base/utf8.h"
#include "daemon/process/cgroup_names.h"

namespace profd::aggregate {
namespace {

constexpr std::size_t kMaxValueBytes = 1024;

// Without its type; "" for a unit that is no service.
std::string_view ServiceUnit(std::string_view unit) {
  constexpr std::string_view kService = ".service";
  if (!unit.ends_with(kService)) return {};
  unit.remove_suffix(kService.size());
  return unit;
}

// A unit that starts containers is not what runs in them.
std::string ServiceOf(const ProfileProcess& process) {
  if (process.container.empty())
    if (const auto unit = ServiceUnit(process.unit); !unit.empty()) return std::string(unit);
  if (!process.executable.empty()) return std::string(BaseName(WithoutDeleted(process.executable)));
  // The kernel's own threads, each of which is a process, have no program.
  if (process.command_line.empty() && process.unit.empty() && process.container.empty())
    return "kernel";
  return process.comm;
}

std::string_view NodeOf(const ProfileProcess& process, std::string_view pod,
                        std::string_view host) {
  return pod.empty() && !process.labels.contains("k8s.pod.name") ? std::string_view() : host;
}

// Attributes of a resource that are labels under their own names.
constexpr std::array<std::string_view, 15> kOfResource{
    "service.name",           "service.version",
    "service.namespace",      "service.instance.id",
    "container.name",         "container.image.name",
    "container.image.tags",   "deployment.environment",
    "k8s.container.name",     "deployment.environment.name",
    "k8s.deployment.name",    "k8s.namespace.name",
    "k8s.node.name",          "k8s.pod.name",
    "cloud.availability_zone"};
constexpr std::size_t kMaxOthers = 16;
constexpr std::string_view kOthers = "__resource.";
// What the libraries of OpenTelemetry say when nothing names the service.
constexpr std::string_view kNoName = "unknown_service";

}  // namespace

void GiveLabels(const std::map<std::string, std::string>* resource,
                const process::ContainerLabels* container, ProfileProcess& process) {
  if (container != nullptr) process.labels = container->labels;
  if (resource != nullptr) {
    std::size_t others = 0;
    for (const auto& [name, value] : *resource) {
      const std::string text = value.substr(0, kMaxValueBytes);
      if (name == "service.name" && value.starts_with(kNoName)) continue;
      if (std::ranges::find(kOfResource, name) != kOfResource.end())
        process.labels.emplace(name, text);
      else if (++others <= kMaxOthers)
        process.labels.emplace(std::string(kOthers) + name, text);
    }
  }
  if (container == nullptr) return;
  if (!container->service.empty()) process.labels.emplace("service.name", container->service);
  if (!container->version.empty()) process.labels.emplace("service.version", container->version);
}

void GiveLabels(const process::ProcessInfo* info, process::ContainerNames* containers,
                ProfileProcess& process) {
  const auto container = containers == nullptr || process.container.empty()
                             ? nullptr
                             : containers->Find(process.container);
  GiveLabels(info == nullptr ? nullptr : info->resource.get(), container.get(), process);
}

std::map<std::string, std::string> ProcessLabels(const ProfileProcess& process,
                                                 std::string_view host) {
  auto labels = process.labels;
  const auto set = [&labels](const char* name, std::string_view value) {
    if (!value.empty()) labels.emplace(name, ValidUtf8(value.substr(0, kMaxValueBytes)));
  };
  const std::string pod = process::PodUidOf(process.cgroup);
  set("service.name", ServiceOf(process));
  set("host.name", host);
  set("k8s.node.name", NodeOf(process, pod, host));
  set("process.executable.name", BaseName(WithoutDeleted(process.executable)));
  set("process.executable.build_id.gnu", process.build_id);
  set("process.owner", process.owner.user);
  set("container.id", process.container);
  set("k8s.pod.uid", pod);
  set("systemd.unit", process.unit);
  return labels;
}

std::string ProcessLabel(const ProfileProcess& process, std::string_view host,
                         std::string_view name) {
  const auto labels = ProcessLabels(process, host);
  const auto label = labels.find(std::string(name));
  return label == labels.end() ? std::string() : label->second;
}

std::string ServiceKey(const ProfileProcess& process) {
  constexpr std::array<const char*, 3> kNames{"service.name", "service.namespace",
                                              "service.version"};
  std::string key;
  for (const char* name : kNames) {
    if (const auto label = process.labels.find(name); label != process.labels.end())
      key += label->second;
    key += '\0';
  }
  return key.size() == kNames.size() ? std::string() : key;
}

void KeepShared(const std::map<std::string, std::string>& others,
                std::map<std::string, std::string>& labels) {
  std::erase_if(labels, [&others](const auto& label) {
    const auto other = others.find(label.first);
    return other == others.end() || other->second != label.second;
  });
}

}  // namespace profd::aggregate
