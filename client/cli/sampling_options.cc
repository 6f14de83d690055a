#include "client/cli/sampling_options.h"

#include "client/cli/values.h"
#include "client/profile/labels/label_values.h"

namespace profd::client {
namespace {

Result<v1::Mode> ParseMode(const std::string& text) {
  if (text == "wall") return v1::MODE_WALL;
  if (text == "on") return v1::MODE_ON_CPU;
  if (text == "off") return v1::MODE_OFF_CPU;
  return Usage("-m " + text + ": no such mode", "it is wall, on or off");
}

}  // namespace

void AddDuration(Command& command, std::string& duration, const std::string& standard,
                 const std::string& more) {
  command.Add({.group = kWhatGroup,
               .names = "-d,--duration",
               .into = &duration,
               .value = "TIME",
               .help = "how long: 10s, 500ms, 2m; a bare number is seconds; default " + standard,
               .more = "It is between 1ms and 24h." + (more.empty() ? more : " " + more)});
}

void AddFrequency(Command& command, RawSampling& raw) {
  command.Add({.group = kWhatGroup,
               .names = "-F,--frequency",
               .into = &raw.frequency,
               .value = "HZ",
               .help = "samples a second of each thread, on the CPU and off it; default 99",
               .more = "The period off the CPU is the power of two ns that is nearest: 8.4 ms "
                       "for 99 Hz."});
}

void AddSampling(Command& command, RawSampling& raw) {
  AddFrequency(command, raw);
  command.Add({.group = kWhatGroup,
               .names = "--budget",
               .into = &raw.budget,
               .value = "SHARE",
               .help = "what sampling may cost, as 10% of a CPU, before waits are sampled less "
                       "often; off: no limit; default 10% for 60 s, then 2% for every 8 CPUs",
               .more = "Above it the profile says so, and all sums stay exact. The 2% grow with "
                       "the square root of -F. Threads that only the history needs stay at its "
                       "rate, and in its budget."});
  command.Add({.group = kWhatGroup,
               .names = "-m,--mode",
               .into = &raw.mode,
               .value = "MODE",
               .help = "which time: all (wall), on a CPU only (on) or waiting only (off); default "
                       "wall",
               .words = {"wall", "on", "off"}});
  command.Add({.group = kWhatGroup,
               .names = "--no-hooks",
               .into = &raw.no_hooks,
               .help = "visit threads at sampling points, and run no program at context switches: "
                       "waits are sampled, not measured"});
  command.Add({.group = kWhatGroup,
               .names = "--no-wakers",
               .into = &raw.no_wakers,
               .help = "do not capture who ends waits, and follow no thread outside the target: "
                       "nothing says on whom threads wait"});
}

void AddCounters(Command& command, RawSampling& raw) {
  command.Add({.group = kWhatGroup,
               .names = "--counters",
               .into = &raw.counters,
               .help = "hardware counters, too: cycles, instructions and cache misses, exact by "
                       "thread, and by function as sampled",
               .more = "Each switch of the target's threads costs a little more. Counts of a "
                       "function are those of up to one period before its samples: what takes "
                       "turns more often than that shares its counts. It needs hooks, and a PMU, "
                       "which most virtual machines lack: the profile says so then."});
}

void AddStep(Command& command, RawSampling& raw) {
  command.Add(
      {.group = kWhatGroup,
       .names = "--step",
       .into = &raw.step,
       .value = "SPEC",
       .help = "what says where steps of a program begin: auto, calls, loop, none, "
               "label:NAME, uprobe:LIB:FUNCTION or usdt:LIB:PROVIDER:NAME; default auto",
       .more =
           "auto: PyTorch's optimizers and data loaders, in up to 16 processes; each of "
           "their calls costs the program 1 or 2 us. calls: all that PyTorch's record_function and "
           "PaddlePaddle's RecordEvent name, that is each operator of PaddlePaddle, for report "
           "--exact. LIB is a path, or the last part of "
           "one. A step lasts from one call to the next. loop, none and label:NAME watch nothing: "
           "of a label that threads publish each value is a step.",
       .words = {"auto", "calls", "loop", "none"}});
}

namespace {

Result<std::vector<std::string>> ParseStep(const std::string& step) {
  if (step.empty()) return std::vector<std::string>();
  if (step == "auto") return std::vector<std::string>{"record_function"};
  if (step == "calls") return std::vector<std::string>{"record_function", "record_event"};
  if (step == "loop" || step == "none" || !LabelNamedBy(step).empty())
    return std::vector<std::string>{"none"};
  if (step.starts_with("uprobe:") || step.starts_with("usdt:"))
    return std::vector<std::string>{step};
  return Usage("--step " + step + ": does not say where steps begin",
               "it is auto, calls, loop, none, label:NAME, uprobe:LIB:FUNCTION or "
               "usdt:LIB:PROVIDER:NAME");
}

}  // namespace

Result<Sampling> ParseSampling(const RawSampling& raw) {
  Sampling sampling;
  if (!raw.frequency.empty()) {
    const Result<std::uint32_t> frequency = ParseFrequency(raw.frequency);
    if (!frequency) return frequency.error();
    sampling.frequency_hz = *frequency;
  }
  if (!raw.budget.empty()) {
    const Result<double> budget = ParseBudget(raw.budget);
    if (!budget) return budget.error();
    sampling.budget_cpus = *budget;
  }
  sampling.no_hooks = raw.no_hooks;
  sampling.no_wakers = raw.no_wakers;
  if (raw.counters && raw.no_hooks)
    return Usage("--counters has no meaning with --no-hooks", "leave one out");
  sampling.counters = raw.counters;
  auto steps = ParseStep(raw.step);
  if (!steps) return steps.error();
  sampling.steps = *std::move(steps);
  const Result<v1::Mode> mode = ParseMode(raw.mode);
  if (!mode) return mode.error();
  sampling.mode = *mode;
  return sampling;
}

}  // namespace profd::client
