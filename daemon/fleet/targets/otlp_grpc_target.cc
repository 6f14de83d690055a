#include "daemon/fleet/targets/otlp_grpc_target.h"

#include <grpcpp/support/status.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "daemon/base/utf8.h"
#include "daemon/fleet/targets/otlp_encoder.h"
#include "daemon/fleet/targets/otlp_splitter.h"

namespace profd::fleet {
namespace {

constexpr const char* kMethod =
    "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export";
constexpr std::size_t kMaxMessageBytes = 300;

constexpr std::array<std::string_view, 17> kCodes{
    "ok",        "cancelled",      "unknown",           "invalid_argument",   "deadline_exceeded",
    "not_found", "already_exists", "permission_denied", "resource_exhausted", "failed_precondition",
    "aborted",   "out_of_range",   "unimplemented",     "internal",           "unavailable",
    "data_loss", "unauthenticated"};

std::string Bounded(const std::string& text) {
  return ValidUtf8(std::string_view(text).substr(0, kMaxMessageBytes));
}

// 0: the receiver says nothing.
std::uint64_t RetryDelayNs(const std::string& details) {
  otlp::RpcStatus status;
  if (!status.ParseFromString(details)) return 0;
  for (const otlp::RpcDetail& detail : status.details()) {
    otlp::RetryInfo info;
    if (!detail.type_url().ends_with("/google.rpc.RetryInfo") ||
        !info.ParseFromString(detail.value()))
      continue;
    const std::int64_t seconds =
        std::clamp<std::int64_t>(info.retry_delay().seconds(), 0, std::int64_t{kMostRetrySeconds});
    const std::int64_t nanos = std::clamp(info.retry_delay().nanos(), 0, 999'999'999);
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(seconds * 1'000'000'000 + nanos));
  }
  return 0;
}

}  // namespace

OtlpGrpcTarget::OtlpGrpcTarget(const ExportSettings& settings)
    : settings_(settings), channel_(settings, kMethod) {}

Result<EncodedProfile> OtlpGrpcTarget::Encode(const ExportProfile& profile) {
  OtlpParts parts = EncodeOtlp(profile, settings_.request_bytes);
  return EncodedProfile{std::move(parts.requests), parts.too_large_ns};
}

Verdict OtlpGrpcTarget::Send(const SpoolEntry& entry, std::uint64_t /*number*/) {
  const auto answer = channel_.Call(entry.payload);
  if (!answer) return {.kind = Verdict::Kind::kLater, .message = answer.error().message};
  if (answer->code != 0) return VerdictOf(answer->code, answer->message, answer->details);
  return VerdictOfAnswer(answer->body);
}

std::vector<std::string> OtlpGrpcTarget::Split(const std::string& payload) {
  return SplitOtlp(payload);
}

bool SaysTooLarge(std::string_view message) {
  std::string text(message);
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  constexpr std::array<std::string_view, 6> kWords{
      "larger than max",        "too large",
      "exceeds maximum size",   "exceeds the maximum",
      "exceeds the size limit", "exceeds the samples count limit"};
  return std::ranges::any_of(
      kWords, [&](std::string_view words) { return text.find(words) != std::string::npos; });
}

Verdict VerdictOf(int code, const std::string& message, const std::string& details) {
  const bool known = code >= 0 && static_cast<std::size_t>(code) < kCodes.size();
  const std::string name(known ? kCodes[static_cast<std::size_t>(code)] : "unknown");
  const std::uint64_t delay_ns = RetryDelayNs(details);
  Verdict verdict{.message = name + ": " + Bounded(message)};
  const bool of_size =
      code == grpc::StatusCode::RESOURCE_EXHAUSTED || code == grpc::StatusCode::OUT_OF_RANGE;
  if (of_size && delay_ns == 0 && SaysTooLarge(message)) {
    verdict.kind = Verdict::Kind::kTooLarge;
    verdict.cause = "refused_" + name;
    return verdict;
  }
  switch (code) {
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::OUT_OF_RANGE:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DATA_LOSS:
      verdict.kind = Verdict::Kind::kLater;
      verdict.retry_after_ns = delay_ns;
      return verdict;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      // Without a time for the next try it will not be taken then either.
      if (delay_ns == 0) break;
      verdict.kind = Verdict::Kind::kLater;
      verdict.retry_after_ns = delay_ns;
      return verdict;
    default:
      break;
  }
  verdict.kind = Verdict::Kind::kRefused;
  verdict.cause = "refused_" + name;
  return verdict;
}

Verdict VerdictOfAnswer(const std::string& body) {
  otlp::ExportProfilesServiceResponse answer;
  // Bytes that are no answer come with a status that says "taken".
  if (!answer.ParseFromString(body) || answer.partial_success().rejected_profiles() <= 0) return {};
  return {.kind = Verdict::Kind::kRefused,
          .cause = "refused_partly",
          .message = Bounded(std::to_string(answer.partial_success().rejected_profiles()) +
                             " profiles refused: " + answer.partial_success().error_message())};
}

}  // namespace profd::fleet
