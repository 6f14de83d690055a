#include "daemon/app/service_manager.h"

#include <systemd/sd-daemon.h>

namespace profd::app {

void ServiceManager::Send(const std::string& state) const {
  if (!silent_) sd_notify(0, state.c_str());
}

void ServiceManager::Ready(const std::string& status) const { Send("READY=1\nSTATUS=" + status); }

void ServiceManager::Reloading(std::uint64_t monotonic_ns) const {
  Send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(monotonic_ns / 1000));
}

void ServiceManager::Stopping() const { Send("STOPPING=1\nSTATUS=ending sessions"); }

std::optional<std::chrono::microseconds> ServiceManager::WatchdogInterval() const {
  std::uint64_t interval_us = 0;
  if (silent_ || sd_watchdog_enabled(0, &interval_us) <= 0) return std::nullopt;
  return std::chrono::microseconds(interval_us);
}

void ServiceManager::Alive() const {
  if (WatchdogInterval()) Send("WATCHDOG=1");
}

bool Watchdog::Tick(const std::string& failure) {
  const bool failed = !failure.empty();
  if (failed && !failed_) logger_.error("profd does not work: {}", failure);
  if (!failed && failed_) logger_.info("profd works again");
  failed_ = failed;
  if (!failed) manager_.Alive();
  return !failed;
}

}  // namespace profd::app
