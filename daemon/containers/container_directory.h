// ContainerDirectory: what the runtimes of this host say of its containers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemon/base/heartbeat.h"
#include "daemon/containers/cri_client.h"
#include "daemon/process/container_names.h"

namespace profd::containers {

struct DirectorySettings {
  std::vector<std::string> sockets;          // of CRI; those that do not exist are passed over
  std::vector<std::string> pod_labels;       // globs: labels of pods that processes get
  std::string node;                          // k8s.node.name; "": the host's name
  std::chrono::milliseconds soonest{2'000};  // between two lists
  std::chrono::milliseconds again{60'000};   // a container that no runtime knew is looked for again
};

// Job: lists the containers of all runtimes when a process is in one that is not known, and keeps
// what it learns. A runtime that hangs delays nothing but its own answer. What a runtime says no
// more stays for one list, as processes are described after they have ended. Thread: one of its
// own, which sleeps while all containers are known. Owner: the composition root.
class ContainerDirectory : public process::ContainerNames {
 public:
  static constexpr std::size_t kMaxWanted = 16'384;
  static constexpr std::size_t kMaxSockets = 16;

  explicit ContainerDirectory(DirectorySettings settings);
  ContainerDirectory(const ContainerDirectory&) = delete;
  ContainerDirectory& operator=(const ContainerDirectory&) = delete;
  ~ContainerDirectory() override;

  [[nodiscard]] std::shared_ptr<const process::ContainerLabels> Find(
      const std::string& id) override;

  // A line for each socket that exists: "containerd v1.6.20 at /run/...: 12 containers and pods",
  // or, beginning with its path, why it does not answer: "/run/...: Permission denied". Any thread.
  [[nodiscard]] std::vector<std::string> Describe() const;
  [[nodiscard]] bool Await(std::chrono::milliseconds timeout) override;
  [[nodiscard]] const Heartbeat& heartbeat() const { return beat_; }

 private:
  using Known = std::unordered_map<std::string, std::shared_ptr<const process::ContainerLabels>>;
  using Time = std::chrono::steady_clock::time_point;
  struct Runtime {
    explicit Runtime(const std::string& socket) : client(socket) {}
    CriClient client;
    Known known;       // the last list ...
    Known before;      // ... and the one before; used by the thread alone
    std::string text;  // guarded by mutex_
  };

  void Run(const std::stop_token& stop);
  void List();
  [[nodiscard]] Known LabelsIn(const Listing& listing) const;

  const DirectorySettings settings_;
  Heartbeat beat_{"containers", Heartbeat::NeededFor::kExtras};
  std::vector<std::unique_ptr<Runtime>> runtimes_;

  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::shared_ptr<const Known> snapshot_;          // guarded by mutex_, as all that follows
  std::unordered_set<std::string> wanted_;         // to be looked for
  std::unordered_map<std::string, Time> missing_;  // no runtime knew it then
  bool listing_ = false;
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace profd::containers
