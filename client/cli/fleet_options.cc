#include "client/cli/fleet_options.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "client/cli/values.h"

namespace profd::client {
namespace {

constexpr std::string_view kFleetGroup = "A fleet";
constexpr const char* kOfEnvironment = "env";  // what --fleet alone means
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

Result<ClickHouseAddress> AddressOf(const std::string& url) {
  if (url != kOfEnvironment) return ParseClickHouseAddress(url);
  const char* named = std::getenv("PROFD_FLEET");
  if (named == nullptr || *named == '\0')
    return Usage("--fleet names no fleet, and PROFD_FLEET is not set",
                 "as in --fleet clickhouse://HOST/DATABASE");
  auto address = ParseClickHouseAddress(named);
  if (!address) return address.error().Wrap("PROFD_FLEET");
  return address;
}

Result<void> CheckFilters(const RawFilters& filters) {
  for (const auto& [given, name, hint] :
       {std::tuple(!filters.pids.empty(), "-p", "--host and --thread name a part of them"),
        {!filters.comms.empty(), "--comm", "a program is named by --exe"},
        {!filters.cgroups.empty(), "--cgroup", "--container, --unit and --pod name a part"},
        {!filters.users.empty(), "--user", "a fleet does not know users; leave it out"}})
    if (given) return Usage(std::string(name) + " is not for fleets", hint);
  return {};
}

// Some labels are columns of the tables. The form NAME=VALUE was checked.
void AddLabels(const v1::HistoryFilter& filter, FleetQuestion& question) {
  for (const std::string& label : filter.label()) {
    const std::string name = label.substr(0, label.find('='));
    const std::string value = label.substr(name.size() + 1);
    const auto* column = std::ranges::find(kFleetKeys, name, &FleetKeyEntry::label);
    if (column == kFleetKeys.end())
      question.labels[name].push_back(value);
    else if (column->key == FleetKey::kService && question.service.empty())
      question.service = value;
    else
      question.fits[column->key].push_back(value);
  }
}

}  // namespace

void AddFleet(Command& command, RawFleet& raw) {
  const auto add = [&](Option option) {
    option.group = kFleetGroup;
    command.Add(std::move(option));
  };
  add({.names = "--fleet",
       .into = &raw.url,
       .value = "URL",
       .implied = kOfEnvironment,
       .joined = "://",
       .help = "many hosts: clickhouse://[USER@]HOST[:PORT]/DATABASE to which they export; "
               "clickhouses:// by TLS; default PROFD_FLEET",
       .more = "With it --host takes names of hosts, with * and ?, and --tls-ca, --tls-cert and "
               "--tls-key are for the server (of collect: for the hosts), else PROFD_FLEET_TLS_CA, "
               "PROFD_FLEET_TLS_CERT and "
               "PROFD_FLEET_TLS_KEY. A password comes from PROFD_FLEET_PASSWORD or "
               "--fleet-password-from. What "
               "hosts have not delivered is said on standard error. Of -p, --comm, --cgroup and "
               "--user a fleet knows nothing."});
  add({.names = "--service", .into = &raw.service, .value = "NAME", .help = kServiceHelp});
  add({.names = "--version",
       .into = &raw.versions,
       .value = "VERSION",
       .help = "only this version of it; * and ? stand for any text, here and in the next three; "
               "each may be given again for others"});
  add({.names = "--zone", .into = &raw.zones, .value = "ZONE", .help = "only hosts in this zone"});
  add({.names = "--namespace",
       .into = &raw.namespaces,
       .value = "NAME",
       .help = "only this namespace of Kubernetes"});
  add({.names = "--pod", .into = &raw.pods, .value = "NAME", .help = "only these pods"});
  add({.names = "--fleet-password-from",
       .into = &raw.password_file,
       .value = "FILE",
       .help = "the first line of FILE is the password; default PROFD_FLEET_PASSWORD",
       .offer = Offer::kFiles});
}

void SetRange(const v1::QueryRequest& request, std::uint64_t now_unix_ns, FleetQuestion& question) {
  const std::uint64_t to = request.to_unix_ns() == 0 ? now_unix_ns : request.to_unix_ns();
  const std::uint64_t from =
      request.since_ns() == 0 ? request.from_unix_ns() : to - std::min(to, request.since_ns());
  // The tables count seconds. What begins within the last one is of the range.
  question.from_s = from / kNsPerSecond;
  question.to_s = (to + kNsPerSecond - 1) / kNsPerSecond;
}

Result<FleetRequest> ParseFleet(const RawFleet& raw, const RawFilters& filters,
                                const RawTimes& times, std::uint64_t now_unix_ns) {
  FleetRequest request;
  const auto address = AddressOf(raw.url);
  if (!address) return address.error();
  request.address = *address;
  request.password_file = raw.password_file;
  PROFD_TRY(CheckFilters(filters));
  // State, reason and times are written as for the history.
  const auto history = ParseQuestion(times, filters, now_unix_ns);
  if (!history) return history.error();
  request.range = history->range;
  FleetQuestion& question = request.question;
  SetRange(history->request, now_unix_ns, question);
  question.service = raw.service;
  question.fits = {{FleetKey::kVersion, raw.versions},          {FleetKey::kZone, raw.zones},
                   {FleetKey::kNamespace, raw.namespaces},      {FleetKey::kPod, raw.pods},
                   {FleetKey::kContainer, filters.containers},  {FleetKey::kUnit, filters.units},
                   {FleetKey::kExecutable, filters.executables}};
  question.threads = filters.threads;
  question.wait = filters.wait;
  question.state = filters.state == "on_cpu" ? "running" : filters.state;
  AddLabels(history->request.filter(), question);
  return request;
}

std::string FirstFleetOption(const RawFleet& raw) {
  const std::array<std::pair<bool, const char*>, 6> options{{
      {!raw.service.empty(), "--service"},
      {!raw.versions.empty(), "--version"},
      {!raw.zones.empty(), "--zone"},
      {!raw.namespaces.empty(), "--namespace"},
      {!raw.pods.empty(), "--pod"},
      {!raw.password_file.empty(), "--fleet-password-from"},
  }};
  const auto given = std::ranges::find(options, true, &std::pair<bool, const char*>::first);
  return given == options.end() ? "" : given->second;
}

Result<void> CheckNoFleet(const RawFleet& raw) {
  const std::string option = FirstFleetOption(raw);
  if (option.empty()) return {};
  return Usage(option + " is for fleets",
               "name one: --fleet clickhouse://HOST/DATABASE, or --fleet and PROFD_FLEET");
}

Result<void> CheckNoFleetButService(RawFleet raw) {
  raw.service.clear();
  return CheckNoFleet(raw);
}

}  // namespace profd::client
