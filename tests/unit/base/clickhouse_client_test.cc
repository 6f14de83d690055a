#include "daemon/base/clickhouse/clickhouse_client.h"

#include <gtest/gtest.h>

#include <string>

namespace profd {
namespace {

TEST(ClickHouseAddress, HasDefaults) {
  const auto address = ParseClickHouseAddress("clickhouse://db.example");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->url, "http://db.example:8123");
  EXPECT_EQ(address->database, "profd");
  EXPECT_EQ(address->user, "");
  EXPECT_EQ(address->cluster, "");
  EXPECT_FALSE(address->tls);
}

TEST(ClickHouseAddress, HasAllParts) {
  const auto address = ParseClickHouseAddress("clickhouses://agent@[::1]:9440/fleet?cluster=eu-1");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->url, "https://[::1]:9440");
  EXPECT_EQ(address->database, "fleet");
  EXPECT_EQ(address->user, "agent");
  EXPECT_EQ(address->cluster, "eu-1");
  EXPECT_TRUE(address->tls);
  EXPECT_EQ(ParseClickHouseAddress("clickhouses://[::1]")->url, "https://[::1]:8443");
  EXPECT_EQ(*ParseClickHouseAddress("clickhouse+https://db/x"),
            *ParseClickHouseAddress("clickhouses://db/x"));
}

TEST(ClickHouseAddress, RefusesWhatIsNone) {
  for (const char* text :
       {"", "http://db", "clickhouse://", "clickhouse://:8123", "clickhouse://db:0",
        "clickhouse://db:65536", "clickhouse://db:x", "clickhouse://a b", "clickhouse://::1",
        "clickhouse://db/a;b", "clickhouse://db/1a", "clickhouse://db?x=1",
        "clickhouse://db?cluster=", "clickhouse://db?cluster=a'b", "clickhouse://a'b@db"}) {
    const auto address = ParseClickHouseAddress(text);
    ASSERT_FALSE(address) << text;
    EXPECT_NE(address.error().hint.find("clickhouse://"), std::string::npos);
  }
}

TEST(ClickHouseAddress, DoesNotRepeatAPassword) {
  const auto address = ParseClickHouseAddress("clickhouse://me:secret@db");
  ASSERT_FALSE(address);
  EXPECT_EQ(address.error().message.find("secret"), std::string::npos);
  EXPECT_NE(address.error().message.find("password"), std::string::npos);
}

TEST(ClickHouseCode, ComesFromHeaderOrText) {
  EXPECT_EQ(ClickHouseCodeOf({.status = 500, .headers = {{"x-clickhouse-exception-code", "241"}}}),
            241);
  EXPECT_EQ(ClickHouseCodeOf({.status = 404, .body = "Code: 60, e.displayText() = DB::Exception"}),
            60);
  EXPECT_EQ(ClickHouseCodeOf({.status = 200, .body = "Code: 60"}), 0);  // data
  EXPECT_EQ(ClickHouseCodeOf({.status = 502, .body = "bad gateway"}), 0);
}

}  // namespace
}  // namespace profd
