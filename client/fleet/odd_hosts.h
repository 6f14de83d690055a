// OddHosts: which hosts of a service differ from the others, and in what functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/fleet/coverage.h"
#include "client/fleet/fleet_database.h"
#include "client/fleet/fleet_question.h"
#include "client/fleet/service_table.h"
#include "daemon/base/result.h"

namespace profd::client {

// What a thread does, as far as this is compared.
enum class HostState : std::uint8_t { kOnCpu, kRunnable, kBlocked, kStolen };

// The time of one function of one host: of stacks whose innermost frame outside of the kernel it
// is.
struct HostFunction {
  std::string host;
  HostState state = HostState::kOnCpu;
  std::string function;
  std::uint64_t ns = 0;
  std::uint64_t points = 0;
  std::uint64_t host_ns = 0;  // of all functions in all states
};

// A share that is not like those of the other hosts.
struct OddShare {
  std::string host;
  HostState state = HostState::kOnCpu;
  std::string function;  // "": all functions in this state
  double share = 0;      // of the host's time
  double median = 0;     // of all hosts
  double score = 0;      // how many robust standard deviations it is away
};

struct OddHosts {
  FleetQuestion question;
  Coverage coverage;
  std::size_t hosts = 0;
  std::size_t compared = 0;   // shares
  std::vector<OddShare> odd;  // by host, the largest difference first
};

// Fewer hosts have no rule from which one could be an exception.
inline constexpr std::size_t kLeastHosts = 5;
// A smaller difference of shares is of no interest, however sure.
inline constexpr double kLeastDifference = 0.01;

// Robust: the middle is the median and the spread comes from the median distance to it, so a few
// odd hosts do not hide each other. The spread is never less than what sampling does. The bound is
// such that in 95 of 100 fleets of equal hosts none is named (Bonferroni over all shares; Student's
// t with the degrees that a median distance is worth).
[[nodiscard]] std::vector<OddShare> FindOdd(const std::vector<HostFunction>& functions);

[[nodiscard]] Result<OddHosts> AskOddHosts(const FleetQuestion& question, std::uint64_t now_s,
                                           FleetDatabase& database);
[[nodiscard]] Result<std::vector<HostFunction>> ReadHostFunctions(std::string_view answer);
[[nodiscard]] std::string RenderOddHosts(const OddHosts& hosts, const ServiceTableOptions& options);
[[nodiscard]] std::string OddHostsJson(const OddHosts& hosts);

}  // namespace profd::client
