#include "daemon/app/run_loop.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <sstream>
#include <string>
#include <utility>

#include "daemon/config/settings.h"

namespace profd::app {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{10'000};

std::string Serving(const config::Options& options) { return "serving at " + options.listen; }

// The watchdog is fed four times in its interval, if all is well.
milliseconds TickInterval(const ServiceManager& manager) {
  const auto watchdog = manager.WatchdogInterval();
  if (!watchdog) return kTick;
  const auto quarter = std::chrono::duration_cast<milliseconds>(*watchdog / 4);
  return std::clamp(quarter, milliseconds{1}, kTick);
}

}  // namespace

UniqueFd BlockedSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

RunLoop::RunLoop(Parts parts, config::Options options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      watchdog_(parts_.manager, parts_.logger) {}

void RunLoop::Run(int signals) {
  parts_.logger.info("{}", Serving(options_));
  parts_.manager.Ready(Serving(options_));
  const auto tick_ns =
      static_cast<std::uint64_t>(std::chrono::nanoseconds(TickInterval(parts_.manager)).count());
  std::array<pollfd, 2> polled = {pollfd{signals, POLLIN, 0}, pollfd{STDIN_FILENO, POLLIN, 0}};
  std::uint64_t next_ns = 0;
  while (true) {
    const std::uint64_t now_ns = parts_.clock.MonotonicNs();
    if (now_ns >= next_ns) {
      Tick();
      next_ns = now_ns + tick_ns;
    }
    const auto wait_ms = static_cast<int>((next_ns - now_ns) / 1'000'000 + 1);
    const int ready = poll(polled.data(), options_.private_use ? 2 : 1, wait_ms);
    if (ready < 0 && errno != EINTR) return;
    if (ready <= 0) continue;
    if (polled[0].revents != 0 && !Handle(signals)) return;
    if (polled[1].revents == 0) continue;
    std::array<char, 256> ignored;
    if (read(STDIN_FILENO, ignored.data(), ignored.size()) <= 0) return;
  }
}

void RunLoop::Tick() {
  const bool works = watchdog_.Tick(parts_.daemon.health().Failure());
  parts_.daemon.ReportHealth(works);
  parts_.sink.ReportHeld();
}

bool RunLoop::Handle(int signals) {
  signalfd_siginfo signal;
  while (read(signals, &signal, sizeof(signal)) == sizeof(signal)) {
    if (signal.ssi_signo != SIGHUP) return false;
    if (options_.private_use) return false;  // the terminal is gone
    Reload();
  }
  return true;
}

void RunLoop::Reload() {
  parts_.manager.Reloading(parts_.clock.MonotonicNs());
  auto read = parts_.read_again();
  if (!read) {
    std::istringstream lines(read.error().message);
    for (std::string line; std::getline(lines, line);)
      parts_.logger.error("configuration: {}", line);
    parts_.logger.error("the configuration is wrong; profd goes on with the one it had");
    parts_.manager.Ready(Serving(options_) + "; the configuration on disk is wrong");
    return;
  }
  const auto changes = config::Differences(options_, read->options);
  for (const auto& change : changes) Take(change);
  const bool same_exports = options_.exports == read->options.exports;
  if (!same_exports)
    parts_.logger.warn("the [[export]] tables have changed: from the next start on");
  const bool same_rules = read->rules->rules() == parts_.rules.Get()->rules();
  if (!same_rules) Take(read->rules);
  if (changes.empty() && same_rules && same_exports)
    parts_.logger.info("configuration read again: nothing changed");
  parts_.manager.Ready(Serving(options_));
}

void RunLoop::Take(const config::SettingChange& change) {
  const auto& setting = *change.setting;
  if (!setting.live) {
    parts_.logger.warn(
        "{} is now '{}' in the configuration: from the next start on; '{}' until then", setting.key,
        change.to, change.from);
    return;
  }
  // What comes from a reading that was right cannot be wrong here.
  if (!config::SetValue(setting, change.to, options_)) return;
  const auto level = spdlog::level::from_str(options_.log_level);
  parts_.logger.set_level(std::min(level, parts_.logger.level()));
  parts_.logger.info("{} is now '{}', was '{}'", setting.key, change.to, change.from);
  parts_.logger.set_level(level);
}

void RunLoop::Take(const rules::RuleSetRef& rules) {
  parts_.rules.Set(rules);
  parts_.logger.info("{} rules are effective now", rules->rules().size());
}

}  // namespace profd::app
