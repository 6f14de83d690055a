// Health: whether profd works, and what of it does not.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/base/heartbeat.h"

namespace profd::app {

// In words for people, each with what it concerns first.
struct HealthReport {
  // Profiles are wrong or missing, and only a restart of profd helps. The watchdog is not fed,
  // /healthz and gRPC health checks report it.
  std::vector<std::string> failed;
  // Something of profd does not work, but profiles are made, or a restart does not help: a process
  // that waits in the kernel because of its file system still waits after it, and profd would
  // restart for ever and lose all sessions each time. `status` and `doctor` name it.
  std::vector<std::string> degraded;
};

// Job: looks at each thread and all readers that work depends on. Thread: any; parts are added by
// the main thread. Owner: the daemon; what it watches outlives all calls of Check.
class Health {
 public:
  using Part = std::function<void(std::uint64_t now_ns, HealthReport& report)>;

  explicit Health(const Clock& clock) : clock_(clock) {}

  void Watch(const Heartbeat& thread);
  void Watch(const std::vector<const Heartbeat*>& threads);
  void Watch(Part part);

  [[nodiscard]] HealthReport Check() const;
  // All that has failed, in one line; "": nothing.
  [[nodiscard]] std::string Failure() const;
  // For how long the longest round has lasted.
  [[nodiscard]] std::uint64_t LongestRoundNs() const;

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::vector<const Heartbeat*> threads_;
  std::vector<Part> parts_;
};

}  // namespace profd::app
