// threads: how well threads use CPUs.
#pragma once

#include "client/commands/file_or_target.h"

namespace profd::client {

// Another report of any source.
class ThreadsVerb : public AnySourceVerb {
 public:
  ThreadsVerb();
  [[nodiscard]] Result<void> Take() override;
};

}  // namespace profd::client
