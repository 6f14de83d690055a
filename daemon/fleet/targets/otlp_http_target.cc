#include "daemon/fleet/targets/otlp_http_target.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "daemon/base/http/content_encoding.h"
#include "daemon/base/utf8.h"
#include "daemon/fleet/targets/otlp_encoder.h"
#include "daemon/fleet/targets/otlp_grpc_target.h"
#include "daemon/fleet/targets/otlp_splitter.h"

namespace profd::fleet {
namespace {

constexpr std::size_t kMaxMessageBytes = 300;

}  // namespace

Result<HttpAnswer> PostMessage(HttpClient& client, const ExportSettings& settings,
                               const std::vector<Header>& headers, const std::string& content_type,
                               const std::string& message) {
  const bool gzip = settings.compression == Compression::kGzip;
  const std::string body = gzip ? Gzipped(message) : message;
  HttpRequest request{.url = settings.address,
                      .headers = {"content-type: " + content_type},
                      .body = body,
                      .timeout = settings.timeout,
                      .tls = settings.tls_files};
  if (gzip) request.headers.emplace_back("content-encoding: gzip");
  for (const Header& header : headers) request.headers.push_back(header.name + ": " + header.value);
  return client.Do(request);
}

OtlpHttpTarget::OtlpHttpTarget(const ExportSettings& settings) : settings_(settings) {}

Result<EncodedProfile> OtlpHttpTarget::Encode(const ExportProfile& profile) {
  OtlpParts parts = EncodeOtlp(profile, settings_.request_bytes);
  return EncodedProfile{std::move(parts.requests), parts.too_large_ns};
}

Verdict OtlpHttpTarget::Send(const SpoolEntry& entry, std::uint64_t /*number*/) {
  const auto headers = ReadHeaders(settings_.headers_from);
  if (!headers) return Later(headers.error().message);
  const auto answer =
      PostMessage(client_, settings_, *headers, "application/x-protobuf", entry.payload);
  if (!answer) return Later(answer.error().message);
  return VerdictOfHttp(answer->status, answer->body, answer->retry_after_seconds);
}

std::vector<std::string> OtlpHttpTarget::Split(const std::string& payload) {
  return SplitOtlp(payload);
}

Verdict VerdictOfHttp(long status, const std::string& body, std::uint64_t retry_after_seconds) {
  if (status >= 200 && status < 300) return VerdictOfAnswer(body);
  const std::string number = std::to_string(status);
  Verdict verdict{.kind = Verdict::Kind::kRefused,
                  .cause = "refused_http_" + number,
                  .message = "http " + number + ": " +
                             ValidUtf8(std::string_view(body).substr(0, kMaxMessageBytes))};
  // The Collector answers 400 to a body that is too large.
  if (status == 413 || (status == 400 && SaysTooLarge(body))) {
    verdict.kind = Verdict::Kind::kTooLarge;
    return verdict;
  }
  if (status != 429 && status != 502 && status != 503 && status != 504) return verdict;
  verdict.kind = Verdict::Kind::kLater;
  verdict.cause.clear();
  verdict.retry_after_ns = std::min(retry_after_seconds, kMostRetrySeconds) * 1'000'000'000;
  return verdict;
}

}  // namespace profd::fleet
