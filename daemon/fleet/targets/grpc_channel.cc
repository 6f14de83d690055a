#include "daemon/fleet/targets/grpc_channel.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/base/files.h"

namespace profd::fleet {
namespace {

constexpr std::size_t kMaxPemBytes = 1u << 20;
constexpr int kMaxAnswerBytes = 1 << 20;

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

struct GrpcChannel::Connection {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<grpc::GenericStub> stub;
};

GrpcChannel::GrpcChannel(const ExportSettings& settings, std::string method)
    : settings_(settings), method_(std::move(method)) {}
GrpcChannel::~GrpcChannel() = default;
GrpcChannel::GrpcChannel(GrpcChannel&&) noexcept = default;

Result<void> GrpcChannel::Connect() {
  auto credentials = grpc::InsecureChannelCredentials();
  if (settings_.tls) {
    grpc::SslCredentialsOptions options;
    const TlsFiles& files = settings_.tls_files;
    for (const auto& [path, key, into] :
         {std::tuple(&files.ca, "tls_ca", &options.pem_root_certs),
          {&files.certificate, "tls_certificate", &options.pem_cert_chain},
          {&files.key, "tls_key", &options.pem_private_key}}) {
      if (path->empty()) continue;
      auto text = ReadFile(*path, kMaxPemBytes);
      if (!text) return text.error().Wrap(key);
      *into = *std::move(text);
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

Result<GrpcAnswer> GrpcChannel::Call(const std::string& message) {
  if (connection_ == nullptr) PROFD_TRY(Connect());
  const auto headers = ReadHeaders(settings_.headers_from);
  if (!headers) return headers.error();
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
      connection_->stub->PrepareUnaryCall(&context, method_, BufferOf(message), &queue);
  call->StartCall();
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  const bool done = queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) continue;
  if (!done) return Error{ErrorCode::kUnavailable, "the call was given up", ""};
  return GrpcAnswer{.code = status.error_code(),
                    .message = status.error_message(),
                    .details = status.error_details(),
                    .body = status.ok() ? BytesOf(answer) : std::string()};
}

}  // namespace profd::fleet
