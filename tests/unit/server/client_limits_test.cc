#include "daemon/server/grpc/auth/client_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <sstream>
#include <utility>
#include <vector>

#include "daemon/server/grpc/auth/refusal_log.h"
#include "tests/support/manual_clock.h"

namespace profd::server {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kSecond = 1'000'000'000;
const server::Caller kStranger{.uid = 5, .pid = 7, .name = "alice"};

TEST(TokenBucketTest, GivesABurstAndThenSoManyASecond) {
  server::TokenBucket bucket(10, 3, 0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.Take(0));
  EXPECT_FALSE(bucket.Take(0));
  EXPECT_FALSE(bucket.Take(kSecond / 11));
  EXPECT_TRUE(bucket.Take(kSecond / 9));
  EXPECT_FALSE(bucket.IsFull(kSecond / 9));
  EXPECT_TRUE(bucket.IsFull(10 * kSecond));
  EXPECT_FALSE(server::TokenBucket(10, 0, kSecond).Take(0));  // time that goes back gives nothing
}

TEST(ClientLimitsTest, WhatIsTooMuchIsRefusedWithTheLimit) {
  server::CollectPlan plan;
  plan.duration_ns = 2 * 3600 * kSecond;
  EXPECT_TRUE(server::Limit(server::kTrustedLimits, plan));
  const auto longer = server::Limit(server::kPublicLimits, plan);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, ErrorCode::kExhausted);
  EXPECT_THAT(longer.error().message, HasSubstr("3600 s"));

  plan.duration_ns = kSecond;
  plan.spec.on_cpu_period_ns = kSecond / 2000;
  EXPECT_TRUE(server::Limit(server::kTrustedLimits, plan));
  EXPECT_THAT(server::Limit(server::kPublicLimits, plan).error().message, HasSubstr("999 Hz"));
}

TEST(ClientLimitsTest, WithoutADurationItIsTheLongest) {
  server::CollectPlan plan;
  ASSERT_TRUE(server::Limit(server::kPublicLimits, plan));
  EXPECT_EQ(plan.duration_ns, server::kPublicLimits.max_duration_ns);
  plan.duration_ns = 0;
  ASSERT_TRUE(server::Limit(server::kTrustedLimits, plan));
  EXPECT_EQ(plan.duration_ns, 0u);
}

TEST(RunningCallsTest, CountsEachClientByItselfUntilItsCallsEnd) {
  server::RunningCalls running;
  std::vector<server::RunningCalls::Call> calls;
  for (std::uint32_t i = 0; i < server::kPublicLimits.max_calls; ++i) {
    calls.push_back(running.Begin(kStranger));
    ASSERT_TRUE(running.Check(kStranger));
  }
  calls.push_back(running.Begin(kStranger));
  const auto refused = running.Check(kStranger);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kExhausted);
  EXPECT_EQ(refused.error().message, "12 calls of yours are running");
  EXPECT_TRUE(running.Check({.uid = 6, .name = "bob"}));
  calls.pop_back();
  EXPECT_TRUE(running.Check(kStranger));
}

TEST(CallRatesTest, CountsEachClientByItself) {
  test::ManualClock clock;
  server::CallRates rates(clock);
  int answered = 0;
  while (answered < 1000 && rates.Count(kStranger)) ++answered;
  EXPECT_EQ(answered, static_cast<int>(2 * server::kPublicLimits.calls_per_second));
  EXPECT_EQ(rates.Count(kStranger).error().code, ErrorCode::kExhausted);
  EXPECT_TRUE(rates.Count({.uid = 6, .name = ""}));
  EXPECT_TRUE(rates.Count({.kind = server::Caller::Kind::kCertificate, .uid = 5, .name = ""}));
  clock.Set(kSecond, 0);
  EXPECT_TRUE(rates.Count(kStranger));
}

TEST(RefusalLogTest, SaysWhoAndWhatOnOneLineAndHowManyItDidNotSay) {
  test::ManualClock clock;
  std::ostringstream said;
  spdlog::logger logger("test", std::make_shared<spdlog::sinks::ostream_sink_st>(said));
  logger.set_pattern("%v");
  server::RefusalLog log(clock, logger);
  log.Refused(Describe(kStranger), "Collect comm a\nb", "not yours\nhint");
  EXPECT_EQ(said.str(), "refused alice (uid 5, pid 7): Collect comm a b: not yours\n");
  for (int i = 0; i < 100; ++i) log.Refused("x", "y", "z");
  said.str("");
  log.Refused("x", "y", "z");
  EXPECT_EQ(said.str(), "");
  EXPECT_EQ(log.refusals(), 102u);
  clock.Set(2 * kSecond, 0);
  log.Refused("x", "y", "z");
  EXPECT_THAT(said.str(), HasSubstr(" more calls\nrefused x: y: z\n"));
}

}  // namespace
}  // namespace profd::server
