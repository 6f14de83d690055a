// query: where time was spent, from the history.
#pragma once

#include <optional>
#include <string>

#include "client/cli/fleet_options.h"
#include "client/cli/history_options.h"
#include "client/cli/output_options.h"
#include "client/commands/common/verb.h"

namespace profd::client {

struct QueryOptions {
  HistoryQuestion question;             // of one host
  std::optional<FleetRequest> fleet{};  // in its place: many hosts
  OutputOptions output;
};

// Of `list`, `report` and `waits`, too: asks and writes.
[[nodiscard]] int RunQuery(const QueryOptions& options, const Context& context);

class QueryVerb : public Verb {
 public:
  QueryVerb();
  [[nodiscard]] Result<void> Take() override;
  [[nodiscard]] int Run(const Context& context) override { return RunQuery(options_, context); }
  [[nodiscard]] const QueryOptions& options() const { return options_; }

 private:
  struct Raw {
    RawTimes times;
    RawFilters filters;
    RawFleet fleet;
    std::string group_by;
    OutputOptions output;
  };
  [[nodiscard]] Result<void> TakeFleet();

  Raw raw_;
  QueryOptions options_;
};

}  // namespace profd::client
