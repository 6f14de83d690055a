// What answers of receivers mean.
#include <gtest/gtest.h>

#include "daemon/fleet/series/pyroscope_target.h"
#include "daemon/fleet/targets/otlp.pb.h"
#include "daemon/fleet/targets/otlp_grpc_target.h"
#include "daemon/fleet/targets/otlp_http_target.h"
#include "daemon/fleet/targets/s3_target.h"

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
  EXPECT_EQ(VerdictOf(8, "no quota", "").cause, "refused_resource_exhausted");
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
  for (const long status : {0L, 100L, 301L, 400L, 401L, 404L, 415L, 500L, 501L}) {
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

TEST(VerdictTest, WhatIsTooLargeIsToBeSplit) {
  for (const char* text :
       {"grpc: received message larger than max (5000000 vs. 4194304)",
        "received message after decompression larger than max 4194304",
        "CLIENT: Received message larger than max (5 vs. 4)",
        "Error, decoded message length too large: found 5 bytes, the limit is: 4 bytes",
        "gRPC message exceeds maximum size 4194304: 5",
        "Received message exceeds the maximum configured message size."})
    for (const int code : {8, 11}) {
      EXPECT_EQ(VerdictOf(code, text, "").kind, Kind::kTooLarge) << text;
      EXPECT_NE(VerdictOf(code, text, "").cause, "");
    }
  EXPECT_EQ(VerdictOf(8, "larger than max", Details(3, 5)).kind, Kind::kLater);
  EXPECT_EQ(VerdictOf(14, "too large", "").kind, Kind::kLater);
  EXPECT_EQ(VerdictOfHttp(413, "", 0).kind, Kind::kTooLarge);
  EXPECT_EQ(VerdictOfHttp(413, "", 0).cause, "refused_http_413");
  EXPECT_EQ(VerdictOfHttp(400, "http: request body too large", 0).kind, Kind::kTooLarge);
}

TEST(VerdictTest, PyroscopesRateLimitsAreTransient) {
  for (const long status : {408L, 429L, 499L, 500L, 502L, 503L, 504L})
    EXPECT_EQ(PyroscopeVerdictOfHttp(status, "{}", 0).kind, Kind::kLater) << status;
  for (const long status : {301L, 400L, 401L, 403L, 404L, 415L, 422L})
    EXPECT_EQ(PyroscopeVerdictOfHttp(status, "{}", 0).cause,
              "refused_http_" + std::to_string(status));
  EXPECT_EQ(PyroscopeVerdictOfHttp(429, "", 7).retry_after_ns, 7'000'000'000u);
  EXPECT_EQ(PyroscopeVerdictOfHttp(422, "resource_exhausted: push rate limit (4 MB)", 0).kind,
            Kind::kLater);
  EXPECT_EQ(PyroscopeVerdictOfHttp(200, "", 0).kind, Kind::kSent);
  constexpr const char* kSize =
      "the profile with labels '{}' exceeds the size limit (max_profile_size_byte, actual: 5, "
      "limit: 4)";
  EXPECT_EQ(PyroscopeVerdictOfHttp(400, kSize, 0).kind, Kind::kTooLarge);
  EXPECT_EQ(PyroscopeVerdictOfGrpc(3, kSize, "").kind, Kind::kTooLarge);
  EXPECT_EQ(PyroscopeVerdictOfGrpc(3, "missing labels", "").cause, "refused_invalid_argument");
  EXPECT_EQ(PyroscopeVerdictOfGrpc(8, "push rate limit (4 MB) exceeded", "").kind, Kind::kLater);
  EXPECT_EQ(PyroscopeVerdictOfGrpc(8, "received message larger than max", "").kind,
            Kind::kTooLarge);
  for (const int code : {2, 4, 13, 14})
    EXPECT_EQ(PyroscopeVerdictOfGrpc(code, "", "").kind, Kind::kLater);
  EXPECT_EQ(PyroscopeVerdictOfGrpc(16, "", "").cause, "refused_unauthenticated");
  EXPECT_EQ(PyroscopeVerdictOfGrpc(0, "", "").kind, Kind::kSent);
}

TEST(VerdictTest, S3LosesNothingForAWrongKey) {
  const Verdict denied = S3Verdict(
      403, "<Error><Code>InvalidAccessKeyId</Code><Message>It does not exist</Message></Error>", 0);
  EXPECT_EQ(denied.kind, Kind::kLater);
  EXPECT_EQ(denied.message,
            "http 403 InvalidAccessKeyId: It does not exist; the keys are in the file of "
            "credentials_from");
  for (const long status : {301L, 400L, 404L, 409L, 429L, 500L, 503L})
    EXPECT_EQ(S3Verdict(status, "", 0).kind, Kind::kLater) << status;
  EXPECT_EQ(S3Verdict(503, "", 7).retry_after_ns, 7'000'000'000u);
  EXPECT_EQ(S3Verdict(200, "", 0).kind, Kind::kSent);
  EXPECT_EQ(S3Verdict(400, "<Code>EntityTooLarge</Code>", 0).cause, "refused_http_400");
  EXPECT_EQ(S3Verdict(405, "<Code>", 0).cause, "refused_http_405");
  EXPECT_LE(S3Verdict(403, "<Code>x</Code><Message>" + std::string(9'000, 'x') + "</Message>", 0)
                .message.size(),
            400u);
}

}  // namespace
}  // namespace profd::fleet
