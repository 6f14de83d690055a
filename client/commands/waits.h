// waits: who waits for whom.
#pragma once

#include <string>

#include "client/commands/file_or_target.h"

namespace profd::client {

// A collection, the reading of a file or of the history, with another report.
class WaitsVerb : public Verb {
 public:
  WaitsVerb();
  [[nodiscard]] Result<void> Take() override;
  [[nodiscard]] bool ShowsProgress() const override {
    return !raw_.no_progress && raw_.command.empty();
  }
  [[nodiscard]] int Run(const Context& context) override;
  [[nodiscard]] const AnySource& options() const { return options_; }

 private:
  struct Raw : RawAnySource {
    std::string format;
  };
  Raw raw_;
  AnySource options_;
};

}  // namespace profd::client
