#include "daemon/fleet/targets/otlp_grpc_target.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "daemon/base/files.h"
#include "daemon/base/utf8.h"
#include "daemon/fleet/targets/otlp_encoder.h"

namespace profd::fleet {
namespace {

constexpr const char* kMethod =
    "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export";
constexpr std::size_t kMaxCaBytes = 1u << 20;
constexpr std::size_t kMaxMessageBytes = 300;
constexpr int kMaxAnswerBytes = 1 << 20;
constexpr std::int64_t kMostRetrySeconds = 3'600;

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
        std::clamp<std::int64_t>(info.retry_delay().seconds(), 0, kMostRetrySeconds);
    const std::int64_t nanos = std::clamp(info.retry_delay().nanos(), 0, 999'999'999);
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(seconds * 1'000'000'000 + nanos));
  }
  return 0;
}

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return {};
  std::string bytes;
  for (const grpc::Slice& slice : slices)
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

}  // namespace

struct OtlpGrpcTarget::Connection {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<grpc::GenericStub> stub;
};

OtlpGrpcTarget::OtlpGrpcTarget(const ExportSettings& settings) : settings_(settings) {}
OtlpGrpcTarget::~OtlpGrpcTarget() = default;

Result<EncodedProfile> OtlpGrpcTarget::Encode(const ExportProfile& profile) {
  OtlpParts parts = EncodeOtlp(profile, settings_.request_bytes);
  return EncodedProfile{std::move(parts.requests), parts.too_large_ns};
}

Result<void> OtlpGrpcTarget::Connect() {
  auto credentials = grpc::InsecureChannelCredentials();
  if (settings_.tls) {
    grpc::SslCredentialsOptions options;
    if (!settings_.tls_ca.empty()) {
      auto ca = ReadFile(settings_.tls_ca, kMaxCaBytes);
      if (!ca) return ca.error().Wrap("tls_ca");
      options.pem_root_certs = *std::move(ca);
    }
    credentials = grpc::SslCredentials(options);
  }
  grpc::ChannelArguments arguments;
  // Pauses between tries are the exporter's.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  arguments.SetUserAgentPrefix("profd/" PROFD_VERSION);
  auto connection = std::make_unique<Connection>();
  connection->channel =
      grpc::CreateCustomChannel("dns:" + settings_.address, credentials, arguments);
  connection->stub = std::make_unique<grpc::GenericStub>(connection->channel);
  connection_ = std::move(connection);
  return {};
}

Verdict OtlpGrpcTarget::Send(const SpoolEntry& entry, std::uint64_t /*number*/) {
  if (connection_ == nullptr)
    if (const auto connected = Connect(); !connected)
      return {.kind = Verdict::Kind::kLater, .message = connected.error().message};
  const auto headers = ReadHeaders(settings_.headers_from);
  if (!headers) return {.kind = Verdict::Kind::kLater, .message = headers.error().message};
  grpc::ClientContext context;
  for (const Header& header : *headers) context.AddMetadata(header.name, header.value);
  if (settings_.compression == Compression::kGzip)
    context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::duration_cast<std::chrono::milliseconds>(settings_.timeout));
  grpc::CompletionQueue queue;
  grpc::ByteBuffer answer;
  grpc::Status status;
  const auto call =
      connection_->stub->PrepareUnaryCall(&context, kMethod, BufferOf(entry.payload), &queue);
  call->StartCall();
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  const bool done = queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) continue;
  if (!done) return {.kind = Verdict::Kind::kLater, .message = "the call was given up"};
  if (!status.ok())
    return VerdictOf(status.error_code(), status.error_message(), status.error_details());
  return VerdictOfAnswer(BytesOf(answer));
}

Verdict VerdictOf(int code, const std::string& message, const std::string& details) {
  const bool known = code >= 0 && static_cast<std::size_t>(code) < kCodes.size();
  const std::string name(known ? kCodes[static_cast<std::size_t>(code)] : "unknown");
  const std::uint64_t delay_ns = RetryDelayNs(details);
  Verdict verdict{.message = name + ": " + Bounded(message)};
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
      // Without a time for the next try it means a message that is too large.
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
