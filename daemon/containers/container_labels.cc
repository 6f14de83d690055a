#include "daemon/containers/container_labels.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstddef>

#include "daemon/base/utf8.h"

namespace profd::containers {
namespace {

constexpr std::size_t kMaxName = 256;  // Kubernetes has at most 253 bytes and a slash more
constexpr std::size_t kMaxValue = 256;
constexpr std::size_t kMaxPodLabels = 32;
// Of names that Kubernetes makes: no vowels, and nothing that looks like one.
constexpr std::string_view kRandom = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::size_t kSuffix = 5;

std::string Safe(std::string_view text) {
  std::string safe;
  for (text = text.substr(0, kMaxValue); !text.empty();) {
    const CodePoint point = TakeCodePoint(text);
    safe += point.valid && !IsUnsafeToPrint(point.code) ? point.bytes : kReplacementCharacter;
  }
  return safe;
}

std::string ValueOf(const std::map<std::string, std::string>& labels, const char* name) {
  const auto label = labels.find(name);
  return label == labels.end() ? std::string() : label->second;
}

bool IsRandom(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kRandom) == std::string_view::npos;
}

// Takes "-xxxxx" off; false: it is not there.
bool TakeSuffix(std::string_view& name) {
  if (name.size() <= kSuffix + 1 || name[name.size() - kSuffix - 1] != '-' ||
      !IsRandom(name.substr(name.size() - kSuffix)))
    return false;
  name.remove_suffix(kSuffix + 1);
  return true;
}

bool TakeHash(std::string_view& name, std::string_view hash) {
  if (hash.empty() || name.size() <= hash.size() + 1 || !name.ends_with(hash) ||
      name[name.size() - hash.size() - 1] != '-')
    return false;
  name.remove_suffix(hash.size() + 1);
  return true;
}

bool IsChosen(const std::string& name, const std::vector<std::string>& chosen) {
  return std::ranges::any_of(chosen, [&name](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
  });
}

}  // namespace

ImageName ParseImage(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const std::size_t slash = image.rfind('/');
  const std::size_t colon = image.rfind(':');
  // A colon before the last slash is that of a port.
  if (colon == std::string_view::npos || (slash != std::string_view::npos && colon < slash))
    return {std::string(image), ""};
  return {std::string(image.substr(0, colon)), std::string(image.substr(colon + 1))};
}

PodOwner OwnerOf(std::string_view pod, const std::map<std::string, std::string>& pod_labels) {
  const std::string hash = ValueOf(pod_labels, "pod-template-hash");
  std::string_view name = pod;
  if (!hash.empty()) {
    if (TakeSuffix(name) && TakeHash(name, hash)) return {std::string(name), true};
    return {};
  }
  if (const auto at = pod_labels.find("statefulset.kubernetes.io/pod-name");
      at != pod_labels.end()) {
    const std::size_t dash = name.rfind('-');
    if (dash == std::string_view::npos || dash == 0) return {};
    return {std::string(name.substr(0, dash)), false};
  }
  if (pod_labels.contains("controller-revision-hash") && TakeSuffix(name))
    return {std::string(name), false};
  return {};
}

process::ContainerLabels LabelsOf(const ContainerFacts& facts,
                                  const std::vector<std::string>& chosen) {
  process::ContainerLabels made;
  const auto set = [&made](const std::string& name, std::string_view value) {
    if (!value.empty()) made.labels.emplace(name, Safe(value));
  };
  const ImageName image = ParseImage(facts.image);
  const PodOwner owner = OwnerOf(facts.pod, facts.pod_labels);
  set("container.name", facts.container);
  set("container.image.name", image.name);
  set("container.image.tags", image.tag);
  set("k8s.container.name", facts.container);
  set("k8s.pod.name", facts.pod);
  set("k8s.pod.uid", facts.pod_uid);
  set("k8s.namespace.name", facts.pod_namespace);
  if (owner.deployment) set("k8s.deployment.name", owner.name);
  std::size_t taken = 0;
  for (const auto& [name, value] : facts.pod_labels) {
    if (name.size() > kMaxName || !IsChosen(name, chosen)) continue;
    if (++taken > kMaxPodLabels) break;
    set("k8s.pod.label." + Safe(name), value);
  }
  for (const char* name : {"app.kubernetes.io/name", "app", "k8s-app"})
    if (made.service.empty()) made.service = Safe(ValueOf(facts.pod_labels, name));
  if (made.service.empty()) made.service = Safe(owner.name);
  made.version = Safe(ValueOf(facts.pod_labels, "app.kubernetes.io/version"));
  if (made.version.empty() && image.tag != "latest") made.version = Safe(image.tag);
  return made;
}

}  // namespace profd::containers
