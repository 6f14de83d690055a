// ServiceManager: what profd tells systemd, or whoever else gave it a NOTIFY_SOCKET.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace profd::app {

// Says nothing where nobody listens. Used by the main thread.
class ServiceManager {
 public:
  // `private_use`: the socket is that of whoever runs profctl, and not for us.
  explicit ServiceManager(bool private_use) : silent_(private_use) {}

  void Ready(const std::string& status) const;
  // The configuration is read again, from now to the next Ready.
  void Reloading(std::uint64_t monotonic_ns) const;
  void Stopping() const;
  // How often the manager wants to hear WATCHDOG=1; none: never.
  [[nodiscard]] std::optional<std::chrono::microseconds> WatchdogInterval() const;
  void Alive() const;

 private:
  void Send(const std::string& state) const;

  const bool silent_;
};

// Feeds the watchdog by the pipeline's own progress: only when every stage has made a round since
// the last time. A stage that is stuck so gets profd restarted. Used by the main thread.
class Watchdog {
 public:
  explicit Watchdog(const ServiceManager& manager) : manager_(manager) {}

  // `progress_ns`: every stage has made a round since then. Whether it was fed; `now_ns` is kept as
  // the time of it.
  bool Tick(std::uint64_t progress_ns, std::uint64_t now_ns);

 private:
  const ServiceManager& manager_;
  std::uint64_t fed_ns_ = 0;
};

}  // namespace profd::app
