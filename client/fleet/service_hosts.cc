#include "client/fleet/service_hosts.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "client/fleet/coverage.h"

namespace profd::client {

ServiceHosts ChooseHosts(const std::vector<ServiceRow>& rows, double window_s,
                         std::uint64_t now_s) {
  ServiceHosts chosen;
  for (const ServiceRow& row : rows) {
    const std::string& host = row.keys.front();
    if (host.empty()) continue;  // that of an exporter without a name
    const double since_s =
        static_cast<double>(now_s) - (static_cast<double>(row.last_s) + window_s);
    // A window is complete after its time, and comes a little later.
    if (since_s <= window_s + kLateSeconds)
      chosen.hosts.push_back(host);
    else
      chosen.silent.push_back({host, since_s});
  }
  std::ranges::sort(chosen.hosts);
  std::ranges::sort(chosen.silent, [](const SilentHost& a, const SilentHost& b) {
    return std::tuple(-a.silent_s, a.host) < std::tuple(-b.silent_s, b.host);
  });
  return chosen;
}

Result<ServiceHosts> AskServiceHosts(FleetQuestion question, std::uint64_t now_s,
                                     FleetDatabase& database) {
  question.from_s = now_s - std::min(now_s, kHostsSinceS);
  // Hosts whose clocks are ahead are here, too.
  question.to_s = now_s + static_cast<std::uint64_t>(kLateSeconds);
  question.apart = {FleetKey::kHost};
  const auto table = AskServices(question, now_s, database);
  if (!table) return table.error();
  return ChooseHosts(table->rows, table->coverage.window_s, now_s);
}

}  // namespace profd::client
