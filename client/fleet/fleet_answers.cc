#include "client/fleet/fleet_answers.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "client/fleet/fleet_profile.h"
#include "client/fleet/fleet_rows.h"
#include "client/fleet/fleet_wakers.h"
#include "client/profile/check_profile.h"
#include "client/profile/fleet_marks.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::size_t kMostNames = 8;

std::string KeyColumns(const FleetQuestion& question) {
  std::string columns;
  for (const FleetKey key : question.apart) columns += std::string(EntryOf(key).name) + ", ";
  return columns;
}

// Hosts in the order of their names, one after the other into each group.
std::string GroupColumn(const FleetQuestion& question) {
  if (!question.by_host_groups) return "toUInt8(0)";
  return "toUInt8((indexOf(all_hosts, toString(host)) - 1) % " + std::to_string(kHostGroups) + ")";
}

std::string WithHosts(const FleetQuestion& question, const std::string& table,
                      const std::string& condition) {
  if (!question.by_host_groups) return "";
  return "WITH (SELECT arraySort(groupUniqArray(toString(host))) FROM " + table + " WHERE " +
         condition + ") AS all_hosts ";
}

// `column`: "hash" or "path". Those with the most time.
std::string Top(const std::string& column, const FleetCondition& condition, std::size_t most) {
  return "(SELECT " + column + " FROM sample WHERE " + condition.sql + " GROUP BY " + column +
         " ORDER BY sum(ns) DESC, " + column + " LIMIT " + std::to_string(most) + ")";
}

std::string OnlyIn(const std::string& column, const std::string& top) {
  return "if(" + column + " GLOBAL IN " + top + ", " + column + ", toUInt64(0))";
}

constexpr const char* kNoPath = "toUInt64(0)";

// `hash`: "hash", or the same of stacks within a limit; `path` too, or kNoPath.
std::string RowStatement(const FleetQuestion& question, const FleetCondition& condition,
                         const std::string& hash, const std::string& path) {
  const std::string keys = KeyColumns(question);
  return WithHosts(question, "sample", condition.sql) + "SELECT " + keys + GroupColumn(question) +
         " AS host_group, thread, toInt8(state) AS state_number, wait, " + hash +
         " AS stack_hash, " + path +
         " AS path_hash, sum(ns), toUInt64(sum(count)) FROM sample WHERE " + condition.sql +
         " GROUP BY " + keys +
         "host_group, thread, state_number, wait, stack_hash, path_hash LIMIT " +
         std::to_string(kMostFleetRows + 1);
}

std::string StackStatement(const FleetQuestion& question, const std::string& service,
                           const std::string& hashes) {
  return "SELECT hash, functions, modules, files, kinds FROM stack WHERE " +
         (question.service.empty() ? "" : "service = " + service + " AND ") + "hash GLOBAL IN " +
         hashes + " LIMIT 1 BY hash";
}

std::string PathCondition(const FleetQuestion& question, const FleetCondition& condition) {
  return std::string(question.service.empty() ? "" : "service = {service:String} AND ") +
         "hash GLOBAL IN (SELECT path FROM sample WHERE " + condition.sql + " AND path != 0)";
}

// What the threads on these paths do.
std::string PathStacks(const FleetQuestion& question, const FleetCondition& condition) {
  return "(SELECT arrayJoin(stacks) FROM path WHERE " + PathCondition(question, condition) + ")";
}

std::size_t StacksIn(const std::vector<FleetRow>& rows) {
  std::unordered_set<std::uint64_t> hashes;
  for (const FleetRow& row : rows) hashes.insert(row.hash);
  return hashes.size();
}

// Rows, and which stacks they refer to.
struct Sums {
  std::vector<FleetRow> rows;
  std::string hashes;  // a part of a statement
};

Result<Sums> SumsOf(const FleetQuestion& question, const FleetCondition& condition,
                    FleetDatabase& database, std::size_t most_stacks, bool has_paths) {
  const std::size_t keys = question.apart.size();
  const auto ask = [&](const std::string& hash,
                       const std::string& path) -> Result<std::vector<FleetRow>> {
    const auto answer = database.Select(
        RowStatement(question, condition, hash, has_paths ? path : kNoPath), condition.parameters);
    if (!answer) return answer.error();
    return ReadRows(*answer, keys);
  };
  auto rows = ask("hash", "path");
  if (!rows && rows.error().code != ErrorCode::kExhausted) return rows.error();
  if (rows && StacksIn(*rows) <= most_stacks)
    return Sums{*std::move(rows), "(SELECT hash FROM sample WHERE " + condition.sql + ")"};
  // The largest stacks by themselves, all others as one; of paths the same.
  constexpr std::size_t kFewer = 10;
  for (const std::size_t most : {most_stacks, most_stacks / kFewer}) {
    const std::string top = Top("hash", condition, most);
    rows = ask(OnlyIn("hash", top), OnlyIn("path", Top("path", condition, most)));
    if (rows) return Sums{*std::move(rows), top};
    if (rows.error().code != ErrorCode::kExhausted) return rows.error();
  }
  return rows.error();
}

// Paths, and the stacks of the threads on them. `condition` has the service, too.
Result<std::pair<FleetPaths, FleetStacks>> PathsOf(const FleetQuestion& question,
                                                   const FleetCondition& condition,
                                                   FleetDatabase& database) {
  const auto answer = database.Select(
      "SELECT hash, kinds, hows, waits, threads, services, own, stacks, estimated FROM path "
      "WHERE " +
          PathCondition(question, condition) + " LIMIT 1 BY hash",
      condition.parameters);
  if (!answer) return answer.error();
  auto paths = ReadPaths(*answer);
  if (!paths) return paths.error();
  const auto of_steps =
      database.Select(StackStatement(question, "{service:String}", PathStacks(question, condition)),
                      condition.parameters);
  if (!of_steps) return of_steps.error();
  auto stacks = ReadStacks(*of_steps);
  if (!stacks) return stacks.error();
  return std::pair(*std::move(paths), *std::move(stacks));
}

Result<std::vector<FleetPart>> PartsOf(const FleetQuestion& question, FleetDatabase& database) {
  const FleetTable table = FitsClock(question) ? FleetTable::kClock : FleetTable::kSample;
  const std::string name = table == FleetTable::kClock ? "clock" : "sample";
  const FleetCondition condition = ConditionOf(question, table);
  const std::string keys = KeyColumns(question);
  const auto answer = database.Select(
      WithHosts(question, name, condition.sql) + "SELECT " + keys + GroupColumn(question) +
          " AS host_group, toUInt64(uniqExact(host)), toUInt64(uniqExact(host, time)) FROM " +
          name + " WHERE " + condition.sql + " GROUP BY " + keys + "host_group LIMIT " +
          std::to_string(kMostFleetParts + 1),
      condition.parameters);
  if (!answer) return answer.error();
  return ReadParts(*answer, question.apart.size());
}

Result<std::vector<std::string>> Names(const std::string& sql, const FleetCondition& condition,
                                       FleetDatabase& database) {
  const auto answer = database.Select(sql, condition.parameters);
  if (!answer) return answer.error();
  RowReader reader(*answer);
  std::vector<std::string> names;
  while (reader.more() && names.size() < kMostNames) names.push_back(SafeText(reader.Text()));
  PROFD_TRY(reader.error());
  return names;
}

std::string List(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace

Result<Coverage> AskCoverage(const FleetQuestion& question, std::uint64_t now_s,
                             FleetDatabase& database) {
  FleetCondition condition;
  const std::string sql = CoverageStatement(question, condition);
  const auto answer = database.Select(sql, condition.parameters);
  if (!answer) return answer.error();
  const auto hosts = ReadHosts(*answer);
  if (!hosts) return hosts.error();
  return CoverageOf(*hosts, question, now_s);
}

Error NothingOf(const FleetQuestion& question, FleetDatabase& database) {
  Error nothing{ErrorCode::kNotFound,
                "no data: the fleet has nothing of " + SafeText(question.Words()) + " in this time",
                "profctl list --fleet shows what there is"};
  if (question.service.empty()) return nothing;
  FleetQuestion known;
  known.service = question.service;
  known.from_s = 0;
  known.to_s = question.to_s;
  const FleetCondition of_service = ConditionOf(known, FleetTable::kClock);
  const auto versions = Names("SELECT version FROM clock WHERE " + of_service.sql +
                                  " GROUP BY version ORDER BY max(time) DESC, version LIMIT " +
                                  std::to_string(kMostNames),
                              of_service, database);
  if (!versions) return versions.error();
  if (!versions->empty())
    return Error{nothing.code, nothing.message,
                 "there are of it the versions " + List(*versions) +
                     "; profctl list --fleet --service " + SafeText(question.service) +
                     " --by host shows when"};
  FleetCondition near;
  near.parameters.emplace("param_name", ParameterText(question.service));
  const auto services = Names(
      "SELECT service FROM clock GROUP BY service ORDER BY "
      "multiIf(positionCaseInsensitive(service, {name:String}) > 0, 0, "
      "positionCaseInsensitive({name:String}, service) > 0, 1, 2), "
      "ngramDistanceCaseInsensitive(toString(service), {name:String}), service LIMIT " +
          std::to_string(kMostNames),
      near, database);
  if (!services) return services.error();
  return Error{ErrorCode::kNotFound,
               "no data: the fleet has no service '" + SafeText(question.service) + "'",
               services->empty() ? "no host has delivered anything yet"
                                 : "the nearest names are " + List(*services)};
}

Result<FleetAnswer> AskFleet(const FleetQuestion& question, std::uint64_t now_s,
                             FleetDatabase& database, std::size_t most_stacks) {
  const FleetCondition condition = ConditionOf(question, FleetTable::kSample);
  const auto wakers = AskWakers(question, database);
  if (!wakers) return wakers.error();
  const bool has_paths = wakers->knowing > 0;
  auto sums = SumsOf(question, condition, database, most_stacks, has_paths);
  if (!sums) return sums.error();
  if (sums->rows.empty()) return NothingOf(question, database);
  FleetCondition of_stacks = condition;
  of_stacks.parameters.emplace("param_service", ParameterText(question.service));
  const auto answer = database.Select(StackStatement(question, "{service:String}", sums->hashes),
                                      of_stacks.parameters);
  if (!answer) return answer.error();
  auto stacks = ReadStacks(*answer);
  if (!stacks) return stacks.error();
  FleetPaths paths;
  if (has_paths) {
    auto on_whom = PathsOf(question, of_stacks, database);
    if (!on_whom) return on_whom.error();
    paths = std::move(on_whom->first);
    stacks->merge(on_whom->second);
  }
  const auto parts = PartsOf(question, database);
  if (!parts) return parts.error();
  auto coverage = AskCoverage(question, now_s, database);
  if (!coverage) return coverage.error();
  const FleetCondition of_clock = ConditionOf(question, FleetTable::kClock);
  const auto partial_answer = database.Select(PartialStatement(of_clock), of_clock.parameters);
  if (!partial_answer) return partial_answer.error();
  auto partial = ReadPartial(*partial_answer);
  if (!partial) return partial.error();
  coverage->partial = *std::move(partial);
  // Who delivers samples and no windows is another's tool.
  if (coverage->hosts == 0) {
    coverage->from_s = static_cast<double>(question.from_s);
    coverage->to_s = static_cast<double>(std::min(question.to_s, now_s));
  }
  FleetAnswer made{ProfileOf(question, std::move(sums->rows), *stacks, *parts, *coverage, paths),
                   *std::move(coverage), ""};
  PROFD_TRY(CheckProfile(made.profile));
  made.wakers = WakersLine(*wakers, made.profile);
  if (!made.wakers.empty()) {
    v1::NamedCount& words = *made.profile.add_counters();
    words.set_name(std::string(kFleetWords));
    words.set_text(made.wakers);
    words.set_count(1);
  }
  return made;
}

}  // namespace profd::client
