// FunctionTable: which functions of a fleet cost most, over all services or in one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/fleet/fleet_database.h"
#include "client/fleet/fleet_question.h"
#include "client/fleet/service_table.h"
#include "daemon/base/result.h"

namespace profd::client {

struct FleetFunction {
  std::string name;
  std::uint64_t self_ns = 0;   // on a CPU, at the leaf
  std::uint64_t total_ns = 0;  // on a CPU, anywhere on the stack
  std::uint64_t runnable_ns = 0;
  std::uint64_t blocked_ns = 0;
  std::uint64_t services = 0;
};

struct FunctionTable {
  FleetQuestion question;
  Coverage coverage;
  std::vector<FleetFunction> functions;  // most time on a CPU by themselves first
  FleetFunction all;                     // self_ns: of all functions; "" as name
  bool of_hours = false;                 // from the roll-up
};

// Whole hours of services and versions come from the roll-up, others from samples. At most `most`
// functions; `all` has what is left out.
[[nodiscard]] Result<FunctionTable> AskFunctions(const FleetQuestion& question, std::size_t most,
                                                 std::uint64_t now_s, FleetDatabase& database);
[[nodiscard]] Result<std::vector<FleetFunction>> ReadFunctions(std::string_view answer);
[[nodiscard]] std::string RenderFunctions(const FunctionTable& table,
                                          const ServiceTableOptions& options);

}  // namespace profd::client
