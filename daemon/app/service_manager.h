// ServiceManager: what profd reports to systemd, or to another manager with a NOTIFY_SOCKET.
#pragma once

#include <spdlog/logger.h>

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

// Job: feeds the manager's watchdog only while profd works, so that the manager restarts it when a
// thread is stuck. The log says which one. Thread: main. Owner: RunLoop.
class Watchdog {
 public:
  // Both must outlive this.
  Watchdog(const ServiceManager& manager, spdlog::logger& logger)
      : manager_(manager), logger_(logger) {}

  // `failure`: as Health::Failure. True: the watchdog was fed, if there is one.
  bool Tick(const std::string& failure);

 private:
  const ServiceManager& manager_;
  spdlog::logger& logger_;
  bool failed_ = false;  // at the last tick
};

}  // namespace profd::app
