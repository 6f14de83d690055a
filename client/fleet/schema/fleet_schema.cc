#include "client/fleet/schema/fleet_schema.h"

#include <array>
#include <cstddef>

namespace profd::client {
namespace {

constexpr std::string_view kCreateTable = "CREATE TABLE IF NOT EXISTS ";
constexpr std::string_view kCreateMaterialized = "CREATE MATERIALIZED VIEW IF NOT EXISTS ";
constexpr std::string_view kCreateView = "CREATE VIEW IF NOT EXISTS ";
constexpr std::string_view kAlterTable = "ALTER TABLE ";
constexpr std::string_view kModifyOrder = "MODIFY ORDER BY";  // if any, the last part of an ALTER
constexpr std::string_view kVersionTable = "schema_version";

// Statements of tables.sql, without the comments above them.
std::vector<std::string> Statements() {
  std::vector<std::string> statements;
  for (std::string_view rest = kTablesSql; !rest.empty();) {
    const std::size_t end = rest.find(";\n");
    std::string_view statement = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 2);
    while (statement.starts_with("\n") || statement.starts_with("--"))
      statement.remove_prefix(statement.starts_with("\n") ? 1 : statement.find('\n'));
    if (!statement.empty()) statements.emplace_back(statement);
  }
  return statements;
}

void Replace(std::string& text, std::string_view from, std::string_view to) {
  if (const std::size_t at = text.find(from); at != std::string::npos)
    text.replace(at, from.size(), to);
}

// The word at the begin of a text: "sample" of "sample (...".
std::string WordAt(std::string_view text) {
  return std::string(text.substr(0, text.find_first_of(" \n")));
}

std::string OnCluster(const FleetPlace& place) {
  return place.cluster.empty() ? "" : " ON CLUSTER '" + place.cluster + "'";
}

// "ENGINE = MergeTree" as a replicated one.
void Replicate(std::string& statement, const FleetPlace& place, const std::string& table) {
  const bool everywhere = table == kVersionTable;  // the same on all shards
  const std::string arguments = "('/clickhouse/tables/" +
                                std::string(everywhere ? "" : "{shard}/") + place.database + "/" +
                                table + "', '" + (everywhere ? "{shard}-" : "") + "{replica}'";
  constexpr std::string_view kEngine = "ENGINE = ";
  const std::size_t name = statement.find(kEngine) + kEngine.size();
  const std::size_t end = statement.find_first_of("(\n", name);
  const bool more = statement[end] == '(';
  statement.replace(end, more ? 1 : 0, arguments + (more ? ", " : ")"));
  statement.insert(name, "Replicated");
  Replace(statement, "non_replicated_deduplication_window = 10000",
          "replicated_deduplication_window = 10000, "
          "replicated_deduplication_window_for_async_inserts = 10000");
}

void AddTable(std::string statement, const FleetPlace& place, std::vector<std::string>& to) {
  const std::string name = WordAt(std::string_view(statement).substr(kCreateTable.size()));
  const bool local = name != kVersionTable;
  const std::string own = name + (local ? "_local" : "");
  Replace(statement, name, own + OnCluster(place));
  Replicate(statement, place, own);
  to.push_back(std::move(statement));
  // Without a key of shards nothing can be inserted here: a retry has to reach the same server.
  if (local)
    to.push_back(std::string(kCreateTable) + name + OnCluster(place) + " AS " + own +
                 "\nENGINE = Distributed('" + place.cluster + "', '" + place.database + "', '" +
                 own + "')");
}

// New columns, and a new order where the rows are.
void AddAlter(const std::string& statement, const FleetPlace& place, std::vector<std::string>& to) {
  const std::string name = WordAt(std::string_view(statement).substr(kAlterTable.size()));
  std::string local = statement;
  Replace(local, name, name + "_local" + OnCluster(place));
  to.push_back(std::move(local));
  std::string over_all = statement;
  if (const std::size_t order = statement.find(kModifyOrder); order != std::string::npos)
    over_all.erase(statement.find_last_of(',', order));
  Replace(over_all, name, name + OnCluster(place));
  to.push_back(std::move(over_all));
}

}  // namespace

std::vector<std::string> SchemaStatements(const FleetPlace& place) {
  std::vector<std::string> statements = Statements();
  if (place.cluster.empty()) return statements;
  std::vector<std::string> made;
  for (std::string& statement : statements) {
    if (statement.starts_with(kCreateTable)) {
      AddTable(std::move(statement), place, made);
      continue;
    }
    if (statement.starts_with(kAlterTable)) {
      AddAlter(statement, place, made);
      continue;
    }
    for (const std::string_view head : {kCreateMaterialized, kCreateView})
      if (statement.starts_with(head)) {
        const std::string name = WordAt(std::string_view(statement).substr(head.size()));
        statement.insert(head.size() + name.size(), OnCluster(place));
      }
    // The roll-up is made where the rows are.
    if (statement.starts_with(kCreateMaterialized)) {
      Replace(statement, "TO stack_hour ", "TO stack_hour_local ");
      Replace(statement, "FROM sample\n", "FROM sample_local\n");
    }
    made.push_back(std::move(statement));
  }
  return made;
}

std::string DatabaseStatement(const FleetPlace& place) {
  return "CREATE DATABASE IF NOT EXISTS " + place.database + OnCluster(place);
}

std::string SchemaText(const FleetPlace& place) {
  std::string text = DatabaseStatement(place) + ";\nUSE " + place.database + ";\n\n";
  if (place.cluster.empty()) return text + kTablesSql;
  for (const std::string& statement : SchemaStatements(place)) text += statement + ";\n\n";
  text.pop_back();
  return text;
}

}  // namespace profd::client
