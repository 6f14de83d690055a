#include "client/commands/fleet/fleet.h"

#include <gtest/gtest.h>

#include "tests/unit/client/commands/parsed.h"

namespace profd::client {
namespace {

const FleetVerb& Verb(const ParsedLine& parsed) {
  return dynamic_cast<const FleetVerb&>(*parsed.line.verb);
}

TEST(FleetTest, ActionsHaveTheirOptions) {
  const ParsedLine init =
      Parsed({"fleet", "init", "--to", "clickhouses://admin@db/prod?cluster=main"});
  EXPECT_EQ(Verb(init).action(), FleetVerb::Action::kInit);
  EXPECT_EQ(Verb(init).address().url, "https://db:8443");
  EXPECT_EQ(Verb(init).address().cluster, "main");
  const ParsedLine schema = Parsed({"fleet", "schema", "--cluster", "other"});
  EXPECT_EQ(Verb(schema).action(), FleetVerb::Action::kSchema);
  EXPECT_EQ(Verb(schema).address().cluster, "other");
  const ParsedLine grant =
      Parsed({"fleet", "grant", "--agent", "profd", "--to", "clickhouse://db/prod"});
  EXPECT_EQ(Verb(grant).grants().agent, "profd");
  EXPECT_EQ(Verb(grant).grants().place.database, "prod");
}

TEST(FleetTest, WhatMakesNoSenseIsRefused) {
  EXPECT_EQ(Refused({"fleet"}).message, "no action is named");
  (void)Refused({"fleet", "drop"});
  EXPECT_EQ(Refused({"fleet", "init"}).message, "init needs a server");
  EXPECT_EQ(Refused({"fleet", "grant"}).message, "grant needs a user");
  EXPECT_EQ(Refused({"fleet", "schema", "--agent", "a"}).message,
            "--agent and --reader are of grant");
  EXPECT_EQ(Refused({"fleet", "grant", "--agent", "a`; DROP"}).message,
            "--agent 'a`; DROP' is no name");
  EXPECT_EQ(Refused({"fleet", "schema", "--cluster", "x'y"}).message, "--cluster 'x'y' is no name");
  // A password in an address is not repeated.
  EXPECT_EQ(Refused({"fleet", "init", "--to", "clickhouse://a:secret@db/x"}).message.find("secret"),
            std::string::npos);
}

}  // namespace
}  // namespace profd::client
