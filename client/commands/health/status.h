// status: what profd says of itself.
#pragma once

#include "client/commands/common/verb.h"

namespace profd::client {

class StatusVerb : public Verb {
 public:
  StatusVerb();
  [[nodiscard]] int Run(const Context& context) override;
  [[nodiscard]] bool json() const { return json_; }

 private:
  bool json_ = false;
};

}  // namespace profd::client
