// profd: the host agent. Flags, log and exit code; everything else is the Daemon's and the
// RunLoop's.
#include <malloc.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "daemon/app/daemon.h"
#include "daemon/app/ending.h"
#include "daemon/app/log_sink.h"
#include "daemon/app/parts/live_readers.h"
#include "daemon/app/run_loop.h"
#include "daemon/app/service_manager.h"
#include "daemon/base/clock.h"
#include "daemon/config/command_line.h"
#include "daemon/fleet/export_process.h"
#include "daemon/rules/rule_set.h"

namespace {

using profd::Error;
using profd::ErrorCode;

int Fail(const Error& error) {
  const std::string prefix =
      profd::app::StderrIsJournal() ? profd::app::JournalPrefix(spdlog::level::err) : "";
  std::istringstream lines(error.message);
  for (std::string line; std::getline(lines, line);)
    std::cerr << prefix << "profd: " << line << '\n';
  if (!error.hint.empty()) std::cerr << prefix << "  " << error.hint << '\n';
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
      return 2;
    case ErrorCode::kPermissionDenied:
      return 5;
    default:
      return 1;
  }
}

// The journal has its own time and level.
const char* LogPattern(bool private_use) {
  if (profd::app::StderrIsJournal()) return "%v";
  return private_use ? "profd: %v" : "%Y-%m-%dT%H:%M:%S.%e %l: %v";
}

// Short work on many threads leaves an arena to each, 8 for every CPU, and pages that are half free
// in all of them. Two are enough: what allocates much is the symbolizer and, every ten seconds, the
// store. Large blocks go back at once; without a value of its own the allocator keeps more of them
// the larger they were.
void BoundFreeMemory() {
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

// A connection has two descriptors, and a host may start profd with 1,024: clients must not leave
// it without those that it needs itself.
void UseAllDescriptors() {
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return;
  descriptors.rlim_cur = descriptors.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &descriptors);
}

// Null: the options name no target.
profd::Result<std::unique_ptr<profd::fleet::ExportProcess>> StartExports(
    const profd::config::Options& options, const profd::rules::RuleSetRef& rules) {
  if (options.exports.empty() || !options.replay_file.empty())
    return std::unique_ptr<profd::fleet::ExportProcess>();
  const std::string directory =
      profd::config::HistoryDirectory(options, std::getenv("STATE_DIRECTORY"));
  if (directory.empty())
    return Error{ErrorCode::kInvalidArgument, "there are exports, but no history that they send",
                 "set history.directory"};
  // A window is written when it is over, and compacted when the one after its minute is written.
  const auto grace =
      2 * (std::max(options.history_window, options.history_compact) + options.history_window);
  return profd::fleet::ExportProcess::Start(
      {.exports = options.exports,
       .rules = rules,
       .host = profd::config::HostName(options),
       .history = directory + "/history.db",
       .grace_ns = static_cast<std::uint64_t>(grace.count())});
}

int Run(int argc, char** argv) {
  const auto read_again = [=] {
    return profd::config::ParseCommandLine(argc, argv, profd::config::SystemEnvironment());
  };
  const auto line = read_again();
  if (!line) return Fail(line.error());
  if (line->text) {
    std::cout << *line->text;
    return 0;
  }
  const auto& options = line->options;
  // First of all: readers and exports are forked from this process as it is now.
  const auto zygote = profd::app::StartZygote();
  if (!zygote) return Fail(zygote.error());
  const auto exports = StartExports(options, line->rules);
  if (!exports) return Fail(exports.error());
  UseAllDescriptors();
  const auto signals = profd::app::BlockedSignals();
  std::signal(SIGPIPE, SIG_IGN);
  const auto sink = profd::app::MakeStderrSink();
  spdlog::logger logger("profd", sink);
  logger.set_level(spdlog::level::from_str(options.log_level));
  logger.set_pattern(LogPattern(options.private_use));
  const profd::app::ServiceManager manager(options.private_use);

  profd::app::Ending ending({});
  const profd::SystemClock clock;
  profd::rules::CurrentRules rules(line->rules);
  auto daemon = profd::app::Daemon::Start(options, rules, **zygote, exports->get(), clock, logger);
  if (!daemon) return Fail(daemon.error());
  if (options.private_use) std::cout << "ready\n" << std::flush;
  profd::app::RunLoop({**daemon, rules, manager, clock, logger, *sink, read_again}, options)
      .Run(signals.get());

  ending.Begin();
  ending.Step("notice");
  logger.info("stopping");
  manager.Stopping();
  const auto stopped = (*daemon)->Stop(ending);
  sink->ReportAllHeld();
  const int code = stopped ? 0 : Fail(stopped.error());
  logger.info("{}", ending.Finish(code));
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  // Whatever a library writes, such as the cache of libdebuginfod, is for profd's user alone.
  umask(0077);
  BoundFreeMemory();
  try {
    return Run(argc, argv);
  } catch (const std::exception& exception) {  // of libraries: out of memory, no thread to be had
    std::fprintf(stderr, "profd: %s\n", exception.what());
    return 1;
  }
}
