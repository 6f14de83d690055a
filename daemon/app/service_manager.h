// ServiceManager: what profd reports to systemd, or to another manager with a NOTIFY_SOCKET.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace profd::app {

// Job: sends notifications; without a manager it does nothing. Thread: main. Owner: main().
class ServiceManager {
 public:
  // `private_use`: the socket belongs to the parent of profctl, so nothing is sent.
  explicit ServiceManager(bool private_use) : silent_(private_use) {}

  void Ready(const std::string& status) const;
  // The configuration is read again, from now to the next Ready.
  void Reloading(std::uint64_t monotonic_ns) const;
  void Stopping() const;
  // How often the manager expects WATCHDOG=1; nothing: it does not.
  [[nodiscard]] std::optional<std::chrono::microseconds> WatchdogInterval() const;
  void Alive() const;

 private:
  void Send(const std::string& state) const;

  const bool silent_;
};

// Job: feeds the manager's watchdog only if every stage of the pipeline has ended a round since the
// last time, so that the manager restarts profd when a stage is stuck. Thread: main. Owner:
// RunLoop.
class Watchdog {
 public:
  explicit Watchdog(const ServiceManager& manager) : manager_(manager) {}

  // `progress_ns`: every stage has ended a round since then. True: the watchdog was fed at
  // `now_ns`.
  bool Tick(std::uint64_t progress_ns, std::uint64_t now_ns);

 private:
  const ServiceManager& manager_;
  std::uint64_t fed_ns_ = 0;
};

}  // namespace profd::app
