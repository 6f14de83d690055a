// symbols: where names come from, module by module.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "client/commands/collect.h"
#include "client/commands/export.h"

namespace profd::client {

// A collection or the reading of a file, with another report.
class SymbolsVerb : public Verb {
 public:
  SymbolsVerb();
  [[nodiscard]] Result<void> Take() override;
  [[nodiscard]] bool ShowsProgress() const override { return !raw_.no_progress; }
  [[nodiscard]] int Run(const Context& context) override;
  [[nodiscard]] const std::variant<CollectOptions, ExportCommandOptions>& options() const {
    return options_;
  }

 private:
  struct Raw {
    std::string input;
    RawTarget target;
    std::string duration;
    RawSampling sampling;
    bool json = false;
    std::vector<std::string> files;
    bool no_progress = false;
  };
  Raw raw_;
  std::variant<CollectOptions, ExportCommandOptions> options_;
};

}  // namespace profd::client
