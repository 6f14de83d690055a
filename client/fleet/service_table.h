// ServiceTable: the services of a fleet, or the versions, hosts ... of one, with their time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "client/fleet/coverage.h"
#include "client/fleet/fleet_database.h"
#include "client/fleet/fleet_question.h"
#include "client/text/palette.h"
#include "daemon/base/result.h"

namespace profd::client {

inline constexpr std::size_t kFleetStates = 5;

struct ServiceRow {
  std::vector<std::string> keys;  // in the order of FleetQuestion::apart
  std::uint64_t hosts = 0;
  std::uint64_t versions = 0;
  std::array<std::uint64_t, kFleetStates> ns{};  // by FleetState - 1; exact
  std::uint64_t last_s = 0;                      // begin of the last window
};

struct ServiceTable {
  FleetQuestion question;
  Coverage coverage;
  std::uint64_t now_s = 0;
  std::vector<ServiceRow> rows;  // most CPU time first
};

struct ServiceTableOptions {
  std::size_t width = 80;
  Palette palette;
  bool complete = false;  // all rows; else the first kServiceRows
};
inline constexpr std::size_t kServiceRows = 50;

// kNotFound: there is nothing.
[[nodiscard]] Result<ServiceTable> AskServices(const FleetQuestion& question, std::uint64_t now_s,
                                               FleetDatabase& database);
[[nodiscard]] Result<std::vector<ServiceRow>> ReadServices(std::string_view answer,
                                                           std::size_t keys);
// In threads on average.
[[nodiscard]] std::string RenderServices(const ServiceTable& table,
                                         const ServiceTableOptions& options);
[[nodiscard]] std::string ServicesJson(const ServiceTable& table);

}  // namespace profd::client
