// symbols: where names come from, module by module.
#pragma once

#include "client/commands/file_or_target.h"

namespace profd::client {

// A collection or the reading of a file, with another report.
class SymbolsVerb : public Verb {
 public:
  SymbolsVerb();
  [[nodiscard]] Result<void> Take() override;
  [[nodiscard]] bool ShowsProgress() const override { return !raw_.no_progress; }
  [[nodiscard]] int Run(const Context& context) override;
  [[nodiscard]] const FileOrTarget& options() const { return options_; }

 private:
  struct Raw : RawFileOrTarget {
    bool json = false;
  };
  Raw raw_;
  FileOrTarget options_;
};

}  // namespace profd::client
