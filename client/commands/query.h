// query: where time was spent, from the history.
#pragma once

#include <string>

#include "client/cli/history_options.h"
#include "client/cli/output_options.h"
#include "client/commands/common/verb.h"

namespace profd::client {

struct QueryOptions {
  HistoryQuestion question;
  OutputOptions output;
};

// Of `list`, too: asks and writes.
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
    std::string group_by;
    OutputOptions output;
  };
  Raw raw_;
  QueryOptions options_;
};

}  // namespace profd::client
