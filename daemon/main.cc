// profd: the host agent. Flags, logger and signals; everything else is the Daemon's.
#include <poll.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "daemon/base/clock.h"
#include "daemon/base/unique_fd.h"
#include "daemon/command_line.h"
#include "daemon/daemon.h"

namespace {

using profd::Error;
using profd::ErrorCode;

int Fail(const Error& error) {
  std::istringstream lines(error.message);
  for (std::string line; std::getline(lines, line);) std::cerr << "profd: " << line << '\n';
  if (!error.hint.empty()) std::cerr << "  " << error.hint << '\n';
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
      return 2;
    case ErrorCode::kPermissionDenied:
      return 5;
    default:
      return 1;
  }
}

// SIGINT and SIGTERM, blocked in all threads and read from a descriptor.
profd::UniqueFd StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return profd::UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC));
}

// Until a signal comes or, in private use, standard input ends.
void WaitForStop(int signals, bool private_use) {
  std::array<pollfd, 2> polled = {pollfd{signals, POLLIN, 0}, pollfd{STDIN_FILENO, POLLIN, 0}};
  while (true) {
    if (poll(polled.data(), private_use ? 2 : 1, -1) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) return;
    if (polled[1].revents == 0) continue;
    std::array<char, 256> ignored;
    if (read(STDIN_FILENO, ignored.data(), ignored.size()) <= 0) return;
  }
}

int Run(int argc, char** argv) {
  const auto line = profd::ParseCommandLine(argc, argv, profd::SystemSurroundings());
  if (!line) return Fail(line.error());
  if (line->text) {
    std::cout << *line->text;
    return 0;
  }
  const auto& options = line->options;
  const auto signals = StopSignals();
  spdlog::logger logger("profd", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger.set_level(spdlog::level::from_str(options.log_level));
  logger.set_pattern(options.private_use ? "profd: %v" : "%Y-%m-%dT%H:%M:%S.%e %l: %v");

  const profd::SystemClock clock;
  auto daemon = profd::Daemon::Start(options, clock, logger);
  if (!daemon) return Fail(daemon.error());
  logger.info("serving at {}", options.listen);
  if (options.private_use) std::cout << "ready\n" << std::flush;

  WaitForStop(signals.get(), options.private_use);
  logger.info("stopping");
  if (const auto stopped = (*daemon)->Stop(); !stopped) return Fail(stopped.error());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::exception& exception) {  // of libraries: out of memory, no thread to be had
    std::fprintf(stderr, "profd: %s\n", exception.what());
    return 1;
  }
}
