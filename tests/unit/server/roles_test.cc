#include "daemon/server/grpc/auth/roles.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "daemon/server/grpc/auth/authorization.h"
#include "daemon/server/grpc/auth/call_log.h"
#include "tests/support/manual_clock.h"

namespace profd::server {
namespace {

using Kind = CertificateName::Kind;

const std::vector<CertificateName> kOps{{Kind::kCommonName, "ops"}};
const std::vector<CertificateName> kScraper{{Kind::kCommonName, "scraper"},
                                            {Kind::kDns, "scraper.example"},
                                            {Kind::kUri, "spiffe://example/scraper"}};

std::optional<Role> RoleIn(std::string_view operators, std::string_view readers,
                           const std::vector<CertificateName>& names) {
  const auto roles = Roles::Parse(operators, readers);
  EXPECT_TRUE(roles) << roles.error().message;
  return roles ? roles->Of(names) : std::nullopt;
}

TEST(Roles, EveryCertificateIsOfAnOperatorUnlessSaidOtherwise) {
  EXPECT_EQ(Roles().Of(kOps), Role::kOperator);
  EXPECT_EQ(Roles().Of({}), Role::kOperator);
  EXPECT_EQ(RoleIn("*", "", kScraper), Role::kOperator);
}

TEST(Roles, AreByNamesOfEachKind) {
  for (const char* name : {"CN=scraper", "DNS=scraper.example", "URI=spiffe://example/scraper",
                           "CN=x, CN=scraper", " CN=scraper ,DNS=y"}) {
    EXPECT_EQ(RoleIn("CN=ops", name, kScraper), Role::kReader) << name;
    EXPECT_EQ(RoleIn(name, "", kScraper), Role::kOperator) << name;
    EXPECT_EQ(RoleIn("CN=ops", name, kOps), Role::kOperator) << name;
  }
}

TEST(Roles, NameCountsMoreThanAllAndReaderMoreThanOperator) {
  EXPECT_EQ(RoleIn("*", "CN=scraper", kScraper), Role::kReader);
  EXPECT_EQ(RoleIn("CN=ops", "*", kOps), Role::kOperator);
  EXPECT_EQ(RoleIn("CN=ops", "*", kScraper), Role::kReader);
  EXPECT_EQ(RoleIn("*", "*", kOps), Role::kReader);
  EXPECT_EQ(RoleIn("CN=scraper", "DNS=scraper.example", kScraper), Role::kReader);
}

TEST(Roles, NoOneElseHasOne) {
  EXPECT_EQ(RoleIn("CN=ops", "CN=scraper", {{Kind::kCommonName, "other"}}), std::nullopt);
  EXPECT_EQ(RoleIn("", "", kOps), std::nullopt);
  EXPECT_EQ(RoleIn("CN=ops", "", {}), std::nullopt);
  // Kinds, cases and parts of names do not count as the name.
  for (const char* name : {"DNS=ops", "CN=Ops", "CN=op", "CN=opsx"})
    EXPECT_EQ(RoleIn(name, "", kOps), std::nullopt) << name;
}

TEST(Roles, WhatIsNoNameIsRefused) {
  for (const char* text : {"ops", "CN=", "CN=a,", ",", "OU=x", "cn=ops", "CN=a,,CN=b"})
    EXPECT_FALSE(Roles::Parse(text, "")) << text;
}

TEST(Roles, CallerHasTheRightsOfItsRole) {
  const auto roles = *Roles::Parse("CN=ops", "CN=scraper");
  const Caller ops = CallerOf(kOps, roles);
  EXPECT_TRUE(ops.sees_all && !ops.refusal && CheckOperator(ops, "Collect"));
  EXPECT_EQ(ops.name, "ops");
  const Caller reader = CallerOf(kScraper, roles);
  EXPECT_TRUE(reader.sees_all && !reader.refusal);
  const auto refused = CheckOperator(reader, "Collect");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
  EXPECT_TRUE(MaySee(ops, "certificate scraper"));
  EXPECT_FALSE(MaySee(reader, "certificate ops"));
  const Caller other = CallerOf({{Kind::kCommonName, "other"}}, roles);
  EXPECT_FALSE(other.sees_all);
  ASSERT_TRUE(other.refusal);
  EXPECT_EQ(other.refusal->message, "certificate 'other' has no role here");
}

class CallLogTest : public ::testing::Test {
 protected:
  std::string Text() { return text_.str(); }

  test::ManualClock clock_;
  std::ostringstream text_;
  spdlog::logger logger_{"test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)};
  const Caller ops_ = CallerOf(kOps, Roles());
};

TEST_F(CallLogTest, LineSaysWhoWhatHowLongAndHowItEnded) {
  logger_.set_pattern("%v");
  CallLog log(clock_, logger_);
  log.Ended(ops_, "ipv4:192.0.2.1:4242", "Collect pid 12", 1'500'000'000, "ok");
  log.Ended(ops_, "ipv4:192.0.2.1:4242", "Collect comm a\nb", 0, "failed: no such\nhint");
  EXPECT_EQ(Text(),
            "call of certificate 'ops', operator, from ipv4:192.0.2.1:4242: Collect pid 12: "
            "1500ms, ok\n"
            "call of certificate 'ops', operator, from ipv4:192.0.2.1:4242: Collect comm a b: "
            "0ms, failed: no such\n");
  EXPECT_EQ(log.not_logged(), 0u);
}

TEST_F(CallLogTest, CallsBeyondTheRateAreCountedAndSaid) {
  logger_.set_pattern("%v");
  {
    CallLog log(clock_, logger_);
    for (int i = 0; i < 130; ++i) log.Ended(ops_, "peer", "Query of all", 0, "ok");
    EXPECT_EQ(log.not_logged(), 30u);
    EXPECT_EQ(Text().find("more calls"), std::string::npos);
    clock_.Set(1'000'000'000, 0);
    for (int i = 0; i < 12; ++i) log.Ended(ops_, "peer", "Query of all", 0, "ok");
    EXPECT_NE(Text().find("30 more calls of remote clients\n"), std::string::npos);
    EXPECT_EQ(log.not_logged(), 37u);
  }
  EXPECT_NE(Text().find("7 more calls of remote clients\n"), std::string::npos);
}

}  // namespace
}  // namespace profd::server
