// FleetSchema: the statements that make a fleet's tables, of one server or of a cluster.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace profd::client {

// Of tables.sql. Higher than the one before with each change.
inline constexpr std::uint32_t kFleetSchemaVersion = 3;

extern const char* const kTablesSql;  // tables.sql

// Where the tables are.
struct FleetPlace {
  std::string database = "profd";
  std::string cluster;  // "": one server
};

// In their order; each can be given again. Of a cluster: TABLE_local on each server, replicated
// within a shard, and TABLE over all shards. Agents write into the server that they reach, so a row
// is where its host writes; who reads TABLE sees all. Names are those that ParseClickHouseAddress
// takes.
[[nodiscard]] std::vector<std::string> SchemaStatements(const FleetPlace& place);

// The same as text for people and for clickhouse-client, with the database.
[[nodiscard]] std::string SchemaText(const FleetPlace& place);

// "CREATE DATABASE IF NOT EXISTS profd".
[[nodiscard]] std::string DatabaseStatement(const FleetPlace& place);

}  // namespace profd::client
