// list: the processes or threads of the history.
#pragma once

#include <string>

#include "client/commands/query.h"

namespace profd::client {

class ListVerb : public Verb {
 public:
  ListVerb();
  [[nodiscard]] Result<void> Take() override;
  [[nodiscard]] int Run(const Context& context) override;
  [[nodiscard]] const QueryOptions& options() const { return options_; }

 private:
  struct Raw {
    RawTimes times;
    RawFilters filters;
    RawFleet fleet;
    bool threads = false;
    std::string group_by;
    std::string filter;
    bool json = false;
  };
  [[nodiscard]] Result<void> TakeFleet();

  Raw raw_;
  QueryOptions options_;
};

}  // namespace profd::client
