// RunLoop: what the main thread does while profd serves: signals, the watchdog, reloads.
#pragma once

#include <spdlog/logger.h>

#include <functional>

#include "daemon/base/clock.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/command_line.h"
#include "daemon/daemon.h"
#include "daemon/log_sink.h"
#include "daemon/service_manager.h"
#include "daemon/settings.h"

namespace profd {

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
    std::function<Result<CommandLine>()> read_again;  // flags, environment and configuration
  };

  RunLoop(Parts parts, Options options);

  // Until SIGINT or SIGTERM comes or, in private use, standard input ends. SIGHUP reads the
  // configuration again: what is wrong in it changes nothing.
  void Run(int signals);

 private:
  void Reload();
  void Take(const SettingChange& change);
  // Whether to go on.
  [[nodiscard]] bool Handle(int signals);
  void Tick();

  const Parts parts_;
  Options options_;  // in force
  Watchdog watchdog_;
};

}  // namespace profd
