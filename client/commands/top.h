// top: a live table on a terminal, or lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/cli/fleet_options.h"
#include "client/cli/sampling_options.h"
#include "client/cli/target_options.h"
#include "client/commands/common/verb.h"
#include "client/screens/top/top_state.h"

namespace profd::client {

struct TopOptions {
  v1::Target target;
  Sampling sampling;
  std::uint64_t interval_ns = 2'000'000'000;
  std::uint64_t count = 0;              // of tables; 0: until it is ended
  bool plain = false;                   // lines, also on a terminal
  TopState state;                       // at the start
  std::optional<FleetRequest> fleet{};  // in the place of all above
};

class TopVerb : public Verb {
 public:
  TopVerb();
  [[nodiscard]] Result<void> Take() override;
  [[nodiscard]] int Run(const Context& context) override;
  [[nodiscard]] const TopOptions& options() const { return options_; }

 private:
  struct Raw {
    RawTarget target;
    RawSampling sampling;
    RawTimes times;
    RawFleet fleet;
    std::string interval;
    std::string count;
    std::string sort;
    std::string filter;
    bool functions = false;
    bool threads = false;
    bool processes = false;
    bool batch = false;
  };

  void AddOutput();
  [[nodiscard]] Result<void> TakeFleet();
  [[nodiscard]] Result<void> TakeView();
  [[nodiscard]] Result<void> TakeSort();

  Raw raw_;
  TopOptions options_;
};

}  // namespace profd::client
