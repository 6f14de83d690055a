#include "client/fleet/schema/fleet_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "client/fleet/schema/fleet_grants.h"

namespace profd::client {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const FleetPlace kCluster{"prod", "main"};

std::string Starting(const std::vector<std::string>& statements, const std::string& with) {
  const auto found = std::ranges::find_if(
      statements, [&](const std::string& statement) { return statement.starts_with(with); });
  EXPECT_NE(found, statements.end()) << with;
  return found == statements.end() ? "" : *found;
}

TEST(FleetSchemaTest, StatementsOfOneServerAreThoseOfTheFile) {
  const auto statements = SchemaStatements({});
  EXPECT_EQ(statements.size(), 11u);
  const std::string file = kTablesSql;
  for (const std::string& statement : statements) {
    EXPECT_THAT(statement, AnyOf(StartsWith("CREATE "), StartsWith("ALTER TABLE ")));
    EXPECT_THAT(statement, HasSubstr(" IF NOT EXISTS "));
    EXPECT_THAT(file, HasSubstr(statement + ";\n"));
  }
  EXPECT_THAT(SchemaText({}), StartsWith("CREATE DATABASE IF NOT EXISTS profd;\nUSE profd;\n"));
}

TEST(FleetSchemaTest, TablesOfAClusterAreReplicatedAndOverAllShards) {
  const auto statements = SchemaStatements(kCluster);
  EXPECT_EQ(statements.size(), 19u);
  for (const std::string& statement : statements)
    EXPECT_THAT(statement, HasSubstr(" ON CLUSTER 'main'")) << statement;
  EXPECT_THAT(
      Starting(statements, "CREATE TABLE IF NOT EXISTS stack_local ON CLUSTER 'main' (\n"),
      AllOf(HasSubstr("ENGINE = ReplicatedReplacingMergeTree("
                      "'/clickhouse/tables/{shard}/prod/stack_local', '{replica}', last_seen)\n"),
            HasSubstr("SETTINGS replicated_deduplication_window = 10000, "
                      "replicated_deduplication_window_for_async_inserts = 10000"),
            Not(HasSubstr("non_replicated"))));
  EXPECT_THAT(Starting(statements, "CREATE TABLE IF NOT EXISTS sample_local "),
              HasSubstr("ENGINE = ReplicatedMergeTree("
                        "'/clickhouse/tables/{shard}/prod/sample_local', '{replica}')\n"));
  EXPECT_THAT(Starting(statements, "CREATE TABLE IF NOT EXISTS stack_hour_local "),
              HasSubstr("'{replica}', (ns, count))\n"));
  EXPECT_EQ(Starting(statements, "CREATE TABLE IF NOT EXISTS sample "),
            "CREATE TABLE IF NOT EXISTS sample ON CLUSTER 'main' AS sample_local\n"
            "ENGINE = Distributed('main', 'prod', 'sample_local')");
  EXPECT_THAT(Starting(statements, "CREATE MATERIALIZED VIEW "),
              AllOf(HasSubstr("stack_hour_from_sample ON CLUSTER 'main' TO stack_hour_local AS"),
                    HasSubstr("\nFROM sample_local\n")));
  EXPECT_THAT(Starting(statements, "CREATE VIEW "), HasSubstr("FROM stack_hour\n"));
  EXPECT_THAT(Starting(statements, "ALTER TABLE host_window_local ON CLUSTER 'main'\n"),
              HasSubstr("MODIFY ORDER BY (host, time, nanosecond)"));
  EXPECT_EQ(Starting(statements, "ALTER TABLE host_window ON CLUSTER "),
            "ALTER TABLE host_window ON CLUSTER 'main'\n"
            "  ADD COLUMN IF NOT EXISTS nanosecond UInt32 CODEC(T64, ZSTD(1)) AFTER time");
  // A column that is in no order is the same on both.
  for (const char* table : {"sample_local", "sample"})
    EXPECT_EQ(Starting(statements, "ALTER TABLE " + std::string(table) + " ON CLUSTER 'main'\n"),
              "ALTER TABLE " + std::string(table) +
                  " ON CLUSTER 'main'\n"
                  "  ADD COLUMN IF NOT EXISTS path UInt64 CODEC(ZSTD(1)) AFTER hash");
  EXPECT_EQ(Starting(statements, "CREATE TABLE IF NOT EXISTS path ON CLUSTER "),
            "CREATE TABLE IF NOT EXISTS path ON CLUSTER 'main' AS path_local\n"
            "ENGINE = Distributed('main', 'prod', 'path_local')");
  // The version is one for all shards.
  EXPECT_THAT(Starting(statements, "CREATE TABLE IF NOT EXISTS schema_version ON CLUSTER"),
              HasSubstr("('/clickhouse/tables/prod/schema_version', '{shard}-{replica}')"));
}

TEST(FleetGrantsTest, AgentsAddRowsAndReadersRead) {
  const std::string text = GrantText({{"profd", ""}, "agent", "grafana"});
  for (const char* table : {"stack", "path", "sample", "clock", "host_window"})
    EXPECT_THAT(text, HasSubstr("GRANT INSERT ON profd." + std::string(table) + " TO `agent`;\n"));
  EXPECT_THAT(text, HasSubstr("GRANT SELECT ON profd.* TO `grafana`;\n"));
  EXPECT_THAT(text, Not(HasSubstr("SELECT ON profd.* TO `agent`")));
  EXPECT_THAT(text, Not(HasSubstr("REMOTE")));
  const std::string cluster = GrantText({kCluster, "agent", ""});
  EXPECT_THAT(cluster,
              HasSubstr("GRANT ON CLUSTER 'main' INSERT ON prod.sample_local TO `agent`;\n"));
  EXPECT_THAT(cluster,
              HasSubstr("GRANT ON CLUSTER 'main' INSERT ON prod.path_local TO `agent`;\n"));
  EXPECT_THAT(cluster, Not(HasSubstr("reader")));
}

}  // namespace
}  // namespace profd::client
