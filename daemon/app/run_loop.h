// RunLoop: the work of the main thread while profd serves: signals, the watchdog, reloads.
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
#include "daemon/rules/rule_set.h"

namespace profd::app {

// SIGINT, SIGTERM and SIGHUP, blocked in this thread and those it starts, as a descriptor.
[[nodiscard]] UniqueFd BlockedSignals();

// Job: handles signals and ticks until profd ends. Thread: main. Owner: main().
class RunLoop {
 public:
  // All must outlive this.
  struct Parts {
    const Daemon& daemon;
    rules::CurrentRules& rules;
    const ServiceManager& manager;
    const Clock& clock;
    spdlog::logger& logger;
    LogSink& sink;
    std::function<Result<config::CommandLine>()>
        read_again;  // flags, environment and configuration
  };

  RunLoop(Parts parts, config::Options options);

  // Returns after SIGINT or SIGTERM or, in private use, when standard input ends. SIGHUP reads the
  // configuration again; an invalid configuration changes nothing.
  void Run(int signals);

 private:
  void Reload();
  void Take(const config::SettingChange& change);
  void Take(const rules::RuleSetRef& rules);
  // False: the loop ends.
  [[nodiscard]] bool Handle(int signals);
  void Tick();

  const Parts parts_;
  config::Options options_;  // the effective ones
  Watchdog watchdog_;
};

}  // namespace profd::app
