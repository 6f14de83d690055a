// truth: programs whose time is known by construction, a verb a case. Prints what it knows as JSON.
#include "tests/testprogs/truth.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <utility>
#include <vector>

int main(int argc, char** argv) {
  truth::Options options;
  double ms = 2000;
  double period_us = 10000;
  const std::vector<std::pair<const char*, std::function<void(truth::Case&)>>> cases = {
      {"spin", truth::Spin},
      {"lockstep", truth::Lockstep},
      {"crowd", truth::Crowd},
      {"depth", truth::Depth},
      {"sleep", truth::Sleep},
      {"long-sleep", truth::LongSleep},
      {"periodic", truth::Periodic},
      {"alternate", truth::Alternate},
      {"convoy", truth::Convoy},
      {"ping-pong", truth::PingPong},
      {"threads", truth::Threads},
      {"forks", truth::Forks},
      {"brief", truth::Brief},
      {"chain", truth::Chain},
      {"two-wakers", truth::TwoWakers},
      {"fair-queue", truth::FairQueue},
      {"pi-queue", truth::PiQueue},
      {"many", truth::Many},
      {"pipe-server", truth::PipeServer},
      {"unix-server", truth::UnixServer},
      {"tcp-server", truth::TcpServer},
      {"events", truth::Events},
      {"timers", truth::Timers},
      {"fsync", truth::Fsync},
      {"children", truth::Children},
      {"signals", truth::Signals},
      {"broadcast", truth::Broadcast},
      {"late", truth::Late},
      {"deaths", truth::Deaths},
      {"other-process", truth::OtherProcess},
      {"outside", truth::Outside},
      {"storm", truth::Storm},
  };
  CLI::App app{"Programs whose time is known by construction"};
  app.require_subcommand(1);
  for (const auto& [name, body] : cases) {
    CLI::App* verb = app.add_subcommand(name);
    verb->add_option("--ms", ms, "how long to run")->capture_default_str();
    verb->add_option("--period-us", period_us, "periodic: the beat")->capture_default_str();
    verb->add_option("--threads", options.threads, "convoy, crowd: how many");
    verb->add_option("--lives", options.lives, "threads, forks: how many");
    verb->add_option("--file", options.file,
                     "fsync, outside, other-process: may be made and written");
  }
  CLI11_PARSE(app, argc, argv);
  options.ns = static_cast<std::int64_t>(ms * 1e6);
  options.period_ns = static_cast<std::int64_t>(period_us * 1e3);

  const std::string chosen = app.get_subcommands().front()->get_name();
  const truth::Counter counter;
  truth::Report report(chosen);
  truth::Case run{.options = options, .counter = counter, .report = report};
  for (const auto& [name, body] : cases) {
    if (chosen == name) body(run);
  }
  report.Join();
  report.Print();
  return 0;
}
