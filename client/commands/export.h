// export: other formats from a json file.
#pragma once

#include <string>

#include "client/cli/output_options.h"
#include "client/commands/common/verb.h"

namespace profd::client {

struct ExportCommandOptions {
  std::string input;  // "-" is stdin
  OutputOptions output;
};

// Of `symbols`, too: reads and writes.
[[nodiscard]] int RunExport(const ExportCommandOptions& options, const Context& context);

class ExportVerb : public Verb {
 public:
  ExportVerb();
  [[nodiscard]] Result<void> Take() override;
  [[nodiscard]] int Run(const Context& context) override { return RunExport(options_, context); }
  [[nodiscard]] const ExportCommandOptions& options() const { return options_; }

 private:
  ExportCommandOptions options_;
};

}  // namespace profd::client
