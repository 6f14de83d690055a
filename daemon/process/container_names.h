// ContainerNames: what the runtime of containers says of one.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

namespace profd::process {

// Passive and immutable. All texts are bounded and valid UTF-8.
struct ContainerLabels {
  // By the names of OpenTelemetry's semantic conventions: container.name, container.image.name,
  // container.image.tag, k8s.container.name, k8s.pod.name, k8s.pod.uid, k8s.namespace.name,
  // k8s.deployment.name, and the chosen labels of its pod as k8s.pod.label.NAME.
  std::map<std::string, std::string> labels;
  // What the service in it is called, if that says nothing itself; "": not known.
  std::string service;
  std::string version;
};

class ContainerNames {
 public:
  virtual ~ContainerNames() = default;
  // Null: nothing is known of it yet, and it is looked for. Returns at once; any thread.
  [[nodiscard]] virtual std::shared_ptr<const ContainerLabels> Find(const std::string& id) = 0;
  // Until nothing that was requested so far is looked for any more; false: it took longer. Any
  // thread.
  [[nodiscard]] virtual bool Await(std::chrono::milliseconds timeout) = 0;
};

}  // namespace profd::process
