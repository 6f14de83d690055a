#include "daemon/server/grpc/transport/tls_server.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security_constants.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/server_credentials.h>

#include <utility>

#include "daemon/server/grpc/auth/client_limits.h"
#include "daemon/server/grpc/transport/server_settings.h"

namespace profd::server {
namespace {

constexpr int kHandshakeMs = 10'000;
constexpr int kThreads = 256;  // each call under way takes one

std::shared_ptr<grpc::ServerCredentials> CredentialsOf(const TlsIdentity& identity) {
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = identity.client_ca;
  options.pem_key_cert_pairs.push_back({identity.key, identity.certificate});
  return grpc::SslServerCredentials(options);
}

std::string First(const grpc::AuthContext& context, const char* property) {
  const auto values = context.FindPropertyValues(property);
  return values.empty() ? "" : std::string(values.front().data(), values.front().size());
}

}  // namespace

Result<std::unique_ptr<TlsServer>> TlsServer::Start(const TlsIdentity& identity, const Gate& gate) {
  std::unique_ptr<TlsServer> tls(new TlsServer(gate));
  grpc::ServerBuilder builder;
  ApplySettings(builder);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
  builder.SetMaxReceiveMessageSize(kTrustedLimits.max_request_bytes);
  grpc::ResourceQuota quota("tls");
  quota.SetMaxThreads(kThreads);
  builder.SetResourceQuota(quota);
  builder.RegisterService(&tls->service_);
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  tls->acceptor_ =
      builder.experimental().AddExternalConnectionAcceptor(Type::FROM_FD, CredentialsOf(identity));
  tls->server_ = builder.BuildAndStart();
  if (!tls->server_)
    return Error{ErrorCode::kInternal, "gRPC makes no server of the TLS certificate", ""};
  tls->health_.emplace(gate.serving, *tls->server_);
  return tls;
}

TlsServer::TlsServer(const Gate& gate)
    : service_(gate, [this](const grpc::ServerContext& context) { return CallerOf(context); }) {}

TlsServer::~TlsServer() { Shutdown(std::chrono::system_clock::now()); }

void TlsServer::Add(UniqueFd connection) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.fd = connection.Release();
  acceptor_->HandleNewConnection(&parameters);
}

Caller TlsServer::CallerOf(const grpc::ServerContext& context) {
  {
    const std::scoped_lock lock(mutex_);
    called_.insert(context.peer());
  }
  Caller caller;
  caller.kind = Caller::Kind::kCertificate;
  if (const auto auth = context.auth_context(); auth && auth->IsPeerAuthenticated()) {
    caller.sees_all = true;
    caller.name = First(*auth, GRPC_X509_CN_PROPERTY_NAME);
    if (caller.name.empty()) caller.name = First(*auth, GRPC_X509_SAN_PROPERTY_NAME);
  }
  return caller;
}

bool TlsServer::HasCalled(const std::string& peer) const {
  const std::scoped_lock lock(mutex_);
  return called_.contains(peer);
}

void TlsServer::Forget(const std::string& peer) {
  const std::scoped_lock lock(mutex_);
  called_.erase(peer);
}

void TlsServer::Shutdown(std::chrono::system_clock::time_point deadline) {
  if (!server_) return;
  health_.reset();
  server_->Shutdown(deadline);
  server_->Wait();
  server_.reset();
}

}  // namespace profd::server
