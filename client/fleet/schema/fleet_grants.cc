#include "client/fleet/schema/fleet_grants.h"

#include <array>
#include <string_view>

namespace profd::client {
namespace {

// What agents write.
constexpr std::array<std::string_view, 5> kWritten = {"stack", "path", "sample", "clock",
                                                      "host_window"};

std::string CreateUser(const std::string& name, const std::string& on_cluster) {
  return "CREATE USER IF NOT EXISTS `" + name + "`" + on_cluster +
         " IDENTIFIED WITH sha256_password BY 'PASSWORD';\n";
}

}  // namespace

std::string GrantText(const GrantPlan& plan) {
  const std::string& cluster = plan.place.cluster;
  const std::string on_cluster = cluster.empty() ? "" : " ON CLUSTER '" + cluster + "'";
  std::string text;
  if (!plan.agent.empty()) {
    text += "-- An agent adds rows, and can read, change and remove none.\n";
    text += CreateUser(plan.agent, on_cluster);
    for (const std::string_view table : kWritten)
      text += "GRANT" + on_cluster + " INSERT ON " + plan.place.database + "." +
              std::string(table) + (cluster.empty() ? "" : "_local") + " TO `" + plan.agent +
              "`;\n";
  }
  if (!plan.reader.empty()) {
    text += "-- A reader sees profiles of all services, and changes nothing.\n";
    text += CreateUser(plan.reader, on_cluster);
    text += "GRANT" + on_cluster + " SELECT ON " + plan.place.database + ".* TO `" + plan.reader +
            "`;\n";
    // A question to all shards makes temporary tables, and connects to the others.
    if (!cluster.empty())
      text += "GRANT" + on_cluster + " REMOTE ON *.* TO `" + plan.reader + "`;\n";
  }
  return text;
}

}  // namespace profd::client
