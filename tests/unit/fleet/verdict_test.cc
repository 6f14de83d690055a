// What answers of receivers mean.
#include <gtest/gtest.h>

#include "daemon/fleet/targets/otlp.pb.h"
#include "daemon/fleet/targets/otlp_grpc_target.h"
#include "daemon/fleet/targets/otlp_http_target.h"

namespace profd::fleet {
namespace {

using Kind = Verdict::Kind;

std::string Details(std::int64_t seconds, std::int32_t nanos,
                    const std::string& type = "type.googleapis.com/google.rpc.RetryInfo") {
  otlp::RetryInfo info;
  info.mutable_retry_delay()->set_seconds(seconds);
  info.mutable_retry_delay()->set_nanos(nanos);
  otlp::RpcStatus status;
  otlp::RpcDetail& detail = *status.add_details();
  detail.set_type_url(type);
  detail.set_value(info.SerializeAsString());
  return status.SerializeAsString();
}

TEST(VerdictTest, CodesThatOtlpCallsRetryable) {
  for (const int code : {1, 4, 10, 11, 14, 15})
    EXPECT_EQ(VerdictOf(code, "", "").kind, Kind::kLater);
  for (const int code : {2, 3, 5, 6, 7, 9, 12, 13, 16, 99, -1})
    EXPECT_EQ(VerdictOf(code, "", "").kind, Kind::kRefused) << code;
  EXPECT_EQ(VerdictOf(3, "bad", "").cause, "refused_invalid_argument");
  EXPECT_EQ(VerdictOf(3, "bad", "").message, "invalid_argument: bad");
  EXPECT_EQ(VerdictOf(99, "", "").cause, "refused_unknown");
}

TEST(VerdictTest, ExhaustedIsTransientOnlyWithATimeForTheNextTry) {
  EXPECT_EQ(VerdictOf(8, "too large", "").cause, "refused_resource_exhausted");
  EXPECT_EQ(VerdictOf(8, "", Details(3, 5, "x/google.rpc.Other")).kind, Kind::kRefused);
  const Verdict later = VerdictOf(8, "", Details(3, 5));
  EXPECT_EQ(later.kind, Kind::kLater);
  EXPECT_EQ(later.retry_after_ns, 3'000'000'005u);
  EXPECT_EQ(VerdictOf(14, "", Details(2, 0)).retry_after_ns, 2'000'000'000u);
}

TEST(VerdictTest, WishesAreBounded) {
  EXPECT_EQ(VerdictOf(14, "", Details(INT64_MAX, INT32_MAX)).retry_after_ns, 3'600'999'999'999u);
  EXPECT_EQ(VerdictOf(14, "", Details(-5, -5)).retry_after_ns, 1u);
  EXPECT_EQ(VerdictOf(14, "", "\xff\xff\xff").retry_after_ns, 0u);
  EXPECT_EQ(VerdictOf(3, std::string(10'000, 'x'), "").message.size(),
            300 + std::string("invalid_argument: ").size());
}

TEST(VerdictTest, AnAnswerMayRefuseAPart) {
  otlp::ExportProfilesServiceResponse answer;
  EXPECT_EQ(VerdictOfAnswer("").kind, Kind::kSent);
  answer.mutable_partial_success();  // the Collector sends it empty
  EXPECT_EQ(VerdictOfAnswer(answer.SerializeAsString()).kind, Kind::kSent);
  answer.mutable_partial_success()->set_rejected_profiles(2);
  answer.mutable_partial_success()->set_error_message("no quota");
  const Verdict refused = VerdictOfAnswer(answer.SerializeAsString());
  EXPECT_EQ(refused.kind, Kind::kRefused);
  EXPECT_EQ(refused.cause, "refused_partly");
  EXPECT_EQ(refused.message, "2 profiles refused: no quota");
}

TEST(VerdictTest, StatusesOfHttp) {
  for (const long status : {429L, 502L, 503L, 504L}) {
    EXPECT_EQ(VerdictOfHttp(status, "", 0).kind, Kind::kLater) << status;
    EXPECT_EQ(VerdictOfHttp(status, "", 7).retry_after_ns, 7'000'000'000u);
    EXPECT_EQ(VerdictOfHttp(status, "", UINT64_MAX).retry_after_ns, 3'600'000'000'000u);
  }
  for (const long status : {0L, 100L, 301L, 400L, 401L, 404L, 413L, 415L, 500L, 501L}) {
    const Verdict refused = VerdictOfHttp(status, "why", 7);
    EXPECT_EQ(refused.kind, Kind::kRefused) << status;
    EXPECT_EQ(refused.cause, "refused_http_" + std::to_string(status));
    EXPECT_EQ(refused.message, "http " + std::to_string(status) + ": why");
  }
  for (const long status : {200L, 202L, 204L})
    EXPECT_EQ(VerdictOfHttp(status, "", 0).kind, Kind::kSent);
  otlp::ExportProfilesServiceResponse answer;
  answer.mutable_partial_success()->set_rejected_profiles(1);
  EXPECT_EQ(VerdictOfHttp(200, answer.SerializeAsString(), 0).cause, "refused_partly");
}

}  // namespace
}  // namespace profd::fleet
