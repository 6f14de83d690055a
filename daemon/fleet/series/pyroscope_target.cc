#include "daemon/fleet/series/pyroscope_target.h"

#include <grpcpp/support/status.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "daemon/fleet/series/push.pb.h"
#include "daemon/fleet/series/series_encoder.h"
#include "daemon/fleet/targets/otlp_grpc_target.h"
#include "daemon/fleet/targets/otlp_http_target.h"

namespace profd::fleet {
namespace {

constexpr const char* kMethod = "/push.v1.PusherService/Push";
// Pyroscope's defaults.
constexpr std::size_t kMostSamples = 16'000;
constexpr std::size_t kMostProfileBytes = 4u << 20;
constexpr SeriesLimits kLimits{.labels = 28, .value_bytes = 2048};  // and two that are always there
// The name by which its pages find CPU time.
constexpr const char* kName = "process_cpu";

std::string Packed(const std::vector<SeriesProfile>& profiles) {
  push::PyroscopeRequest request;
  for (const SeriesProfile& profile : profiles) {
    push::PyroscopeSeries& series = *request.add_series();
    for (const auto& [name, value] : profile.labels) {
      push::Label& label = *series.add_labels();
      label.set_name(name);
      label.set_value(value);
    }
    push::PyroscopeSample& sample = *series.add_samples();
    sample.set_raw_profile(profile.pprof);
    sample.set_id(profile.id);
  }
  return request.SerializeAsString();
}

std::vector<SeriesProfile> Unpacked(const std::string& payload) {
  push::PyroscopeRequest request;
  std::vector<SeriesProfile> profiles;
  if (!request.ParseFromString(payload)) return profiles;
  for (const auto& series : request.series()) {
    Labels labels;
    for (const auto& label : series.labels()) labels[label.name()] = label.value();
    for (const auto& sample : series.samples())
      profiles.push_back({labels, sample.raw_profile(), sample.id()});
  }
  return profiles;
}

bool SaysRateLimit(const std::string& text) { return text.find("rate limit") != std::string::npos; }

}  // namespace

PyroscopeTarget::PyroscopeTarget(const ExportSettings& settings)
    : settings_(settings),
      choice_(settings.relabel),
      channel_(WithoutCompression(settings), kMethod) {}

Result<EncodedProfile> PyroscopeTarget::Encode(const ExportProfile& profile) {
  const SeriesShape shape{
      .pprof = {.count_type = false,
                .process_labels = false,
                .thread_labels = false,
                .state_as_root = true},
      .labels =
          [this](const Labels& labels) {
            Labels made = MakeSeriesLabels(choice_.Of(labels), kLimits);
            made.emplace("service_name", "unknown_service");
            made.emplace("__name__", kName);
            return made;
          },
      .most_samples = kMostSamples,
      .most_bytes = std::min<std::size_t>(settings_.request_bytes, kMostProfileBytes),
      .compression = settings_.compression};
  const SeriesRequests made = EncodeSeries(profile, shape);
  EncodedProfile encoded{.too_large_ns = made.too_large_ns};
  for (const auto& request : made.requests) encoded.payloads.push_back(Packed(request));
  return encoded;
}

Verdict PyroscopeTarget::Send(const SpoolEntry& entry, std::uint64_t /*number*/) {
  if (settings_.kind == TargetKind::kPyroscopeGrpc) {
    const auto answer = channel_.Call(entry.payload);
    if (!answer) return Later(answer.error().message);
    return PyroscopeVerdictOfGrpc(answer->code, answer->message, answer->details);
  }
  const auto headers = ReadHeaders(settings_.headers_from);
  if (!headers) return Later(headers.error().message);
  const auto answer = PostMessage(client_, WithoutCompression(settings_), *headers,
                                  "application/proto", entry.payload);
  if (!answer) return Later(answer.error().message);
  return PyroscopeVerdictOfHttp(answer->status, answer->body, answer->retry_after_seconds);
}

std::vector<std::string> PyroscopeTarget::Split(const std::string& payload) {
  std::vector<std::string> requests;
  for (const auto& half : SplitSeries(Unpacked(payload))) requests.push_back(Packed(half));
  return requests;
}

Verdict PyroscopeVerdictOfHttp(long status, const std::string& body,
                               std::uint64_t retry_after_seconds) {
  if (status >= 200 && status < 300) return {};
  Verdict verdict = VerdictOfHttp(status, body, retry_after_seconds);
  // 500: a part of it was away. Its age ends the tries.
  const bool transient =
      status == 408 || status == 499 || status == 500 || (status == 422 && SaysRateLimit(body));
  if (transient) return Later(std::move(verdict.message));
  return verdict;
}

Verdict PyroscopeVerdictOfGrpc(int code, const std::string& message, const std::string& details) {
  if (code == grpc::StatusCode::OK) return {};
  Verdict verdict = VerdictOf(code, message, details);
  if (code == grpc::StatusCode::INVALID_ARGUMENT && SaysTooLarge(message))
    verdict.kind = Verdict::Kind::kTooLarge;
  const bool transient =
      (code == grpc::StatusCode::RESOURCE_EXHAUSTED && verdict.kind == Verdict::Kind::kRefused) ||
      code == grpc::StatusCode::UNKNOWN || code == grpc::StatusCode::INTERNAL;
  if (transient) return Later(std::move(verdict.message));
  return verdict;
}

}  // namespace profd::fleet
