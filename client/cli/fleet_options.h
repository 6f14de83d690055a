// Which fleet is requested, and what of it, from options.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/command_model.h"
#include "client/cli/history_options.h"
#include "client/fleet/fleet_question.h"
#include "daemon/base/clickhouse/clickhouse_client.h"
#include "daemon/base/result.h"

namespace profd::client {

struct RawFleet {
  std::string url;  // "": not a fleet; kFleetOfEnvironment: that of PROFD_FLEET
  std::string password_file;
  std::string service;
  std::vector<std::string> versions;
  std::vector<std::string> zones;
  std::vector<std::string> namespaces;
  std::vector<std::string> pods;

  [[nodiscard]] bool requested() const { return !url.empty(); }
};

struct FleetRequest {
  ClickHouseAddress address;
  std::string password_file;  // "": PROFD_FLEET_PASSWORD
  FleetQuestion question;     // without hosts: these are those of --host
  std::string range;          // as text
};

void AddFleet(Command& command, RawFleet& raw);

// kInvalidArgument: an option that is not for fleets, or a wrong address.
[[nodiscard]] Result<FleetRequest> ParseFleet(const RawFleet& raw, const RawFilters& filters,
                                              const RawTimes& times, std::uint64_t now_unix_ns);
// The first option that is for fleets only, but for --fleet; "": none is given.
[[nodiscard]] std::string FirstFleetOption(const RawFleet& raw);
// An error where there is one without --fleet.
[[nodiscard]] Result<void> CheckNoFleet(const RawFleet& raw);
// The same for commands that know a service without a fleet.
[[nodiscard]] Result<void> CheckNoFleetButService(RawFleet raw);
// Takes the times of a question about the history.
void SetRange(const v1::QueryRequest& request, std::uint64_t now_unix_ns, FleetQuestion& question);

}  // namespace profd::client
