#include "client/link/grpc_client.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include "client/link/channel.h"
#include "client/profile/check_profile.h"
#include "daemon/base/unique_fd.h"
#include "profd/v1/profiler.grpc.pb.h"

namespace profd::client {
namespace {

constexpr auto kConnectTimeout = std::chrono::seconds(10);
constexpr auto kCallTimeout = std::chrono::seconds(30);
constexpr auto kQueryTimeout = std::chrono::minutes(5);
constexpr std::size_t kMaxProfileBytes = 1u << 30;  // of all chunks
constexpr std::string_view kHint = "is profd running there?";

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
}

Error TooLong(std::string_view hint) {
  return Error{ErrorCode::kExhausted, "the profile is longer than 1 GiB", std::string(hint)};
}

Result<v1::Profile> ParseWhole(const std::string& bytes, bool done) {
  v1::Profile profile;
  if (!done || !profile.ParseFromString(bytes))
    return Error{ErrorCode::kCorrupt, "profd sent no whole profile", ""};
  PROFD_TRY(CheckProfile(profile));
  return profile;
}

ErrorCode CodeOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::OUT_OF_RANGE:
      return ErrorCode::kInvalidArgument;
    case grpc::StatusCode::NOT_FOUND:
      return ErrorCode::kNotFound;
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:  // more than this client may have
      return ErrorCode::kPermissionDenied;
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::UNIMPLEMENTED:
      return ErrorCode::kUnsupported;
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::CANCELLED:
      return ErrorCode::kUnavailable;
    case grpc::StatusCode::DATA_LOSS:
      return ErrorCode::kCorrupt;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace

Error ErrorFromStatus(const grpc::Status& status) {
  const ErrorCode code = CodeOf(status.error_code());
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED)
    return Error{code, "this profd does not know the request: " + status.error_message(),
                 "profctl and profd should be of one version"};
  const std::string& message = status.error_message();
  const std::size_t line_end = message.find('\n');
  if (line_end == std::string::npos) return Error{code, message, ""};
  return Error{code, message.substr(0, line_end), message.substr(line_end + 1)};
}

std::string UnixSocketPath(const std::string& address) {
  constexpr std::string_view kScheme = "unix:";
  if (!address.starts_with(kScheme)) return {};
  const std::string path = address.substr(kScheme.size());
  return path.starts_with("///") ? path.substr(2) : path;
}

Result<void> ProbeUnixSocket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    return Error{ErrorCode::kInvalidArgument, "the path of the socket is too long: " + path, ""};
  std::memcpy(address.sun_path, path.data(), path.size());
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrorFromErrno(errno, "cannot make a socket");
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
    return {};
  Error error = ErrorFromErrno(errno, "cannot reach profd at unix:" + path);
  if (error.code == ErrorCode::kPermissionDenied)
    error.hint = "run it with sudo, or as a member of the socket's group (profd)";
  else
    error.hint = kHint;
  if (error.code != ErrorCode::kPermissionDenied) error.code = ErrorCode::kUnavailable;
  return error;
}

struct GrpcClient::Service {
  explicit Service(const std::shared_ptr<grpc::Channel>& channel)
      : stub(v1::Profiler::NewStub(channel)) {}
  const std::unique_ptr<v1::Profiler::Stub> stub;  // keeps the channel
};

GrpcClient::GrpcClient(std::string address, std::unique_ptr<Service> service)
    : address_(std::move(address)), service_(std::move(service)) {}

GrpcClient::~GrpcClient() = default;

Result<std::unique_ptr<GrpcClient>> GrpcClient::Connect(const std::string& address,
                                                        const TlsFiles& tls) {
  // gRPC says too little of sockets that are not there.
  if (const std::string path = UnixSocketPath(address); !path.empty())
    PROFD_TRY(ProbeUnixSocket(path));
  const bool by_tls = address.starts_with(kTlsScheme);
  using Credentials = Result<std::shared_ptr<grpc::ChannelCredentials>>;
  const auto credentials =
      by_tls ? TlsCredentials(tls) : Credentials(grpc::InsecureChannelCredentials());
  if (!credentials) return credentials.error();
  auto channel = grpc::CreateCustomChannel(address.substr(by_tls ? kTlsScheme.size() : 0),
                                           *credentials, ChannelArgumentsForProfd());
  std::unique_ptr<GrpcClient> client(new GrpcClient(address, std::make_unique<Service>(channel)));
  const auto deadline = std::chrono::system_clock::now() + kConnectTimeout;
  for (auto state = channel->GetState(true); state != GRPC_CHANNEL_READY;
       state = channel->GetState(true)) {
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) {
      // A call that does not wait brings the reason to light.
      grpc::ClientContext context;
      v1::StatusResponse response;
      const grpc::Status status = client->service_->stub->Status(&context, {}, &response);
      if (status.ok()) break;
      return Unreachable(address, ReasonIn(status.error_message()));
    }
    if (!channel->WaitForStateChange(state, deadline))
      return Unreachable(address, "no answer within 10 s");
  }
  return client;
}

Result<v1::Profile> GrpcClient::Collect(const v1::CollectRequest& request,
                                        const CollectCallbacks& callbacks) {
  grpc::ClientContext context;
  const auto reader = service_->stub->Collect(&context, request);
  v1::CollectResponse response;
  std::string bytes;
  bool done = false;
  Result<void> outcome;
  while (outcome && reader->Read(&response)) {
    if (response.has_started()) outcome = callbacks.started(response.started());
    if (response.has_progress()) outcome = callbacks.progress(response.progress());
    if (response.has_profile_chunk()) {
      bytes += response.profile_chunk();
      if (bytes.size() > kMaxProfileBytes)
        outcome = TooLong("collect for a shorter time, at a lower rate (-F) or of fewer processes");
    }
    if (response.has_done()) done = response.done();
  }
  if (!outcome) context.TryCancel();
  const grpc::Status status = reader->Finish();
  if (!outcome) return outcome.error();
  if (!status.ok()) {
    // UNAVAILABLE is said by profd, and by gRPC when there is no profd any more.
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE || Status())
      return ErrorFromStatus(status);
    return Error{ErrorCode::kUnavailable,
                 "profd at " + address_ + " went away in the middle of the collection: " +
                     ReasonIn(status.error_message()),
                 ""};
  }
  return ParseWhole(bytes, done);
}

Result<v1::Profile> GrpcClient::Query(const v1::QueryRequest& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kQueryTimeout);
  const auto reader = service_->stub->Query(&context, request);
  v1::QueryResponse response;
  std::string bytes;
  bool done = false;
  bool too_long = false;
  while (!too_long && reader->Read(&response)) {
    if (response.has_profile_chunk()) bytes += response.profile_chunk();
    too_long = bytes.size() > kMaxProfileBytes;
    if (response.has_done()) done = response.done();
  }
  if (too_long) context.TryCancel();
  const grpc::Status status = reader->Finish();
  if (too_long) return TooLong("ask for a shorter time, or for fewer processes");
  if (!status.ok()) return ErrorFromStatus(status);
  return ParseWhole(bytes, done);
}

Result<v1::Dump> GrpcClient::Dump(const v1::DumpRequest& request) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::Dump dump;
  const grpc::Status status = service_->stub->Dump(&context, request, &dump);
  if (!status.ok()) return ErrorFromStatus(status);
  PROFD_TRY(CheckDump(dump));
  return dump;
}

Result<void> GrpcClient::Stop(std::uint32_t session) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::StopRequest request;
  request.set_session(session);
  v1::StopResponse response;
  const grpc::Status status = service_->stub->Stop(&context, request, &response);
  if (!status.ok()) return ErrorFromStatus(status).Wrap("cannot stop the session");
  return {};
}

Result<v1::StatusResponse> GrpcClient::Status() {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::StatusResponse response;
  const grpc::Status status = service_->stub->Status(&context, {}, &response);
  if (!status.ok()) return ErrorFromStatus(status).Wrap("profd at " + address_);
  return response;
}

}  // namespace profd::client
