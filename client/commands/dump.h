// dump: what every thread of a process does now.
#pragma once

#include "client/cli/output_options.h"
#include "client/cli/target_options.h"
#include "client/commands/common/verb.h"

namespace profd::client {

struct DumpCommandOptions {
  v1::Target target;  // pids or tids
  bool json = false;
  bool inlined = true;
  bool lines = true;
  NameOptions names;
};

class DumpVerb : public Verb {
 public:
  DumpVerb();
  [[nodiscard]] Result<void> Take() override;
  [[nodiscard]] int Run(const Context& context) override;
  [[nodiscard]] const DumpCommandOptions& options() const { return options_; }

 private:
  struct Raw {
    RawTarget target;
    bool json = false;
    RawPlaces places;
    NameOptions names;
  };
  Raw raw_;
  DumpCommandOptions options_;
};

}  // namespace profd::client
