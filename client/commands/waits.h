// waits: who waits for whom.
#pragma once

#include "client/commands/file_or_target.h"

namespace profd::client {

// Another report of any source.
class WaitsVerb : public AnySourceVerb {
 public:
  WaitsVerb();
  [[nodiscard]] Result<void> Take() override;
  [[nodiscard]] int Run(const Context& context) override;
};

}  // namespace profd::client
