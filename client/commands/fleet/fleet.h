// fleet: the tables of a fleet in ClickHouse: made, printed, and who may use them.
#pragma once

#include <string>

#include "client/commands/common/verb.h"
#include "client/fleet/schema/fleet_grants.h"
#include "client/fleet/schema/schema_setup.h"

namespace profd::client {

class FleetVerb : public Verb {
 public:
  enum class Action { kInit, kSchema, kGrant };

  FleetVerb();
  [[nodiscard]] Result<void> Take() override;
  [[nodiscard]] int Run(const Context& context) override;

  [[nodiscard]] Action action() const { return action_; }
  [[nodiscard]] const ClickHouseAddress& address() const { return access_.address; }
  [[nodiscard]] const GrantPlan& grants() const { return grants_; }

 private:
  struct Raw {
    std::string action;
    std::string to;
    std::string cluster;
    std::string password_from;
    std::string agent;
    std::string reader;
  };

  [[nodiscard]] Result<void> TakePlace();
  [[nodiscard]] Result<std::string> Init(const TlsFiles& named);

  Raw raw_;
  Action action_ = Action::kInit;
  SchemaAccess access_;
  GrantPlan grants_;
};

}  // namespace profd::client
