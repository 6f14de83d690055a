// RunLoop: what the main thread does while profd serves: signals, the watchdog, reloads.
#pragma once

#include <spdlog/logger.h>

#include <functional>

#include "daemon/app/daemon.h"
#include "daemon/app/log_sink.h"
#include "daemon/app/service_manager.h"
#include "daemon/base/clock.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/config/command_line.h"
#include "daemon/config/settings.h"

namespace profd::app {

// SIGINT, SIGTERM and SIGHUP, blocked in this thread and those it starts, as a descriptor.
[[nodiscard]] UniqueFd BlockedSignals();

// Used by the main thread.
class RunLoop {
 public:
  // All must outlive this.
  struct Parts {
    const Daemon& daemon;
    const ServiceManager& manager;
    const Clock& clock;
    spdlog::logger& logger;
    LogSink& sink;
    std::function<Result<config::CommandLine>()>
        read_again;  // flags, environment and configuration
  };

  RunLoop(Parts parts, config::Options options);

  // Until SIGINT or SIGTERM comes or, in private use, standard input ends. SIGHUP reads the
  // configuration again: what is wrong in it changes nothing.
  void Run(int signals);

 private:
  void Reload();
  void Take(const config::SettingChange& change);
  // Whether to go on.
  [[nodiscard]] bool Handle(int signals);
  void Tick();

  const Parts parts_;
  config::Options options_;  // the effective ones
  Watchdog watchdog_;
};

}  // namespace profd::app
