// diff: two json files or ranges of the history compared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/fleet_options.h"
#include "client/cli/history_options.h"
#include "client/cli/output_options.h"
#include "client/commands/common/verb.h"

namespace profd::client {

struct DiffInput {
  std::string source;                      // as it was written; without `history` a json file
  std::optional<HistoryQuestion> history;  // none: "-" is stdin
  std::optional<FleetQuestion> fleet{};    // in the place of both: a part of the fleet
  std::string filter;                      // as ThreadFilter::Parse has it; empty: everything
};

struct DiffCommandOptions {
  DiffInput a;
  DiffInput b;
  std::vector<std::string> files;  // as OutputOptions
  std::string format;
  bool absolute = false;
  bool threads = false;
  NameOptions names;
  PathDetail on_whom = PathDetail::kNone;
  std::optional<FleetRequest> fleet{};
};

class DiffVerb : public Verb {
 public:
  DiffVerb();
  [[nodiscard]] Result<void> Take() override;
  [[nodiscard]] int Run(const Context& context) override;
  [[nodiscard]] const DiffCommandOptions& options() const { return options_; }

 private:
  void AddOutput();
  void AddFleetSides();
  [[nodiscard]] Result<void> TakeFleet();
  [[nodiscard]] Result<void> TakeRanges(FleetRequest& fleet,
                                        const std::vector<std::string>& ranges);

  std::vector<std::string> sides_;
  RawFilters filters_;
  RawFleet fleet_;
  RawTimes times_;
  std::string before_;
  std::string after_;
  std::string on_whom_;
  DiffCommandOptions options_;
};

}  // namespace profd::client
