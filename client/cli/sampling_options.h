// How often samples are taken, of which time, and what they may cost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/command_model.h"
#include "daemon/base/result.h"
#include "profd/v1/profiler.pb.h"

namespace profd::client {

struct Sampling {
  std::uint32_t frequency_hz = 99;
  double budget_cpus = 0;  // as in CollectRequest
  v1::Mode mode = v1::MODE_WALL;
  bool no_hooks = false;  // snapshot mode
  bool no_wakers = false;
  bool counters = false;           // hardware counters
  std::vector<std::string> steps;  // as in CollectRequest
};

struct RawSampling {
  std::string frequency;
  std::string budget;
  std::string mode = "wall";
  bool no_hooks = false;
  bool no_wakers = false;
  bool counters = false;
  std::string step;
};

// -d. `standard`: how long where none is named. `more`: for the manual page only.
void AddDuration(Command& command, std::string& duration, const std::string& standard,
                 const std::string& more = "");
// The `standard` of commands that also take -- COMMAND.
inline constexpr const char* kTenSecondsOrCommand = "10s, with -- COMMAND until it ends";
void AddFrequency(Command& command, RawSampling& raw);  // -F
void AddSampling(Command& command,
                 RawSampling& raw);  // AddFrequency, --budget, -m, --no-hooks, --no-wakers
void AddStep(Command& command, RawSampling& raw);      // --step
void AddCounters(Command& command, RawSampling& raw);  // --counters
[[nodiscard]] Result<Sampling> ParseSampling(const RawSampling& raw);

}  // namespace profd::client
