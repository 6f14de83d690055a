// ContainerLabels: from what a runtime says of a container to the labels of its processes. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/process/container_names.h"

namespace profd::containers {

// What a runtime says of a container, or of a pod's sandbox, which has no name and no image.
// Passive; the texts are as hostile as those who start containers.
struct ContainerFacts {
  std::string container;  // its name in the pod
  std::string image;      // "registry:5000/shop/cart:1.2@sha256:..."
  std::string pod;
  std::string pod_uid;
  std::string pod_namespace;
  std::map<std::string, std::string> pod_labels;
};

// `chosen`: names of labels of pods that processes get, globs of * and ?.
[[nodiscard]] process::ContainerLabels LabelsOf(const ContainerFacts& facts,
                                                const std::vector<std::string>& chosen);

struct ImageName {
  std::string name;  // "registry:5000/shop/cart"
  std::string tag;   // ""; "1.2"
};
[[nodiscard]] ImageName ParseImage(std::string_view image);

// What has made the pod, by its name: "cart" of "cart-5d8f7c9b6d-x2x9z" (a Deployment), "db" of
// "db-0" (a StatefulSet), "agent" of "agent-x2x9z" (a DaemonSet). Its labels say which of these it
// is, or that its name alone does not say; "": it is made by none of these.
struct PodOwner {
  std::string name;
  bool deployment = false;
};
[[nodiscard]] PodOwner OwnerOf(std::string_view pod,
                               const std::map<std::string, std::string>& pod_labels);

}  // namespace profd::containers
