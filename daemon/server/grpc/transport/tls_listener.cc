#include "daemon/server/grpc/transport/tls_listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security_constants.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/server/grpc/auth/caller.h"
#include "daemon/server/grpc/auth/client_limits.h"
#include "daemon/server/grpc/service/caller_service.h"
#include "daemon/server/grpc/transport/call_watch.h"
#include "daemon/server/grpc/transport/open_connections.h"
#include "daemon/server/grpc/transport/server_settings.h"
#include "daemon/server/grpc/transport/tls_identity.h"
#include "daemon/server/tcp_address.h"

namespace profd::server {
namespace {

// accept4 has failed because descriptors or memory are missing, and the connection is still in the
// backlog: poll() would return at once, again and again.
constexpr int kPauseMs = 100;
constexpr const char* kRefused = "no TLS, or no certificate that tls.client_ca has signed";

struct TcpPeer {
  // What gRPC's ServerContext::peer() has: "ipv4:192.0.2.1:4242", "ipv6:%5B::1%5D:4242". It is the
  // only link between a call and the connection that was accepted here.
  std::string name;
  // Without the port; the /64 network of an IPv6 address, because a host has a whole one.
  std::string address;
};

TcpPeer PeerOf(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const auto v4 = [&](const void* bytes, in_port_t port) -> TcpPeer {
    inet_ntop(AF_INET, bytes, text.data(), text.size());
    const std::string host = std::string("ipv4:") + text.data();
    return {host + ":" + std::to_string(ntohs(port)), host};
  };
  if (address.ss_family == AF_INET) {
    const auto& peer = reinterpret_cast<const sockaddr_in&>(address);
    return v4(&peer.sin_addr, peer.sin_port);
  }
  const auto& peer = reinterpret_cast<const sockaddr_in6&>(address);
  if (IN6_IS_ADDR_V4MAPPED(&peer.sin6_addr)) return v4(&peer.sin6_addr.s6_addr[12], peer.sin6_port);
  inet_ntop(AF_INET6, &peer.sin6_addr, text.data(), text.size());
  const std::string host = std::string("ipv6:%5B") + text.data() + "%5D";
  in6_addr network = peer.sin6_addr;
  std::fill_n(&network.s6_addr[8], 8, std::uint8_t{0});
  inet_ntop(AF_INET6, &network, text.data(), text.size());
  return {host + ":" + std::to_string(ntohs(peer.sin6_port)),
          std::string("ipv6:") + text.data() + "/64"};
}

constexpr int kThreads = 256;  // each running call takes one

std::shared_ptr<grpc::ServerCredentials> MakeCredentials(const TlsIdentity& identity) {
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = identity.client_ca;
  options.pem_key_cert_pairs.push_back({identity.key, identity.certificate});
  return grpc::SslServerCredentials(options);
}

// The common name is the first, if there is one.
std::vector<CertificateName> NamesIn(const grpc::AuthContext& context) {
  using Kind = CertificateName::Kind;
  std::vector<CertificateName> names;
  for (const auto& [property, kind] : {std::pair{GRPC_X509_CN_PROPERTY_NAME, Kind::kCommonName},
                                       {GRPC_PEER_DNS_PROPERTY_NAME, Kind::kDns},
                                       {GRPC_PEER_URI_PROPERTY_NAME, Kind::kUri}})
    for (const auto& value : context.FindPropertyValues(property))
      if (!value.empty()) names.push_back({kind, std::string(value.data(), value.size())});
  return names;
}

}  // namespace

// The gRPC server of connections by TLS. gRPC does the handshake: a client without a certificate,
// or with one that has expired or that the CA has not signed, cannot make a call. What a client
// with a valid certificate may do is decided by its names (Roles). The server listens nowhere;
// TlsListener owns it and adds connections.
class TlsServer {
 public:
  // The members of `gate`, and `open`, must outlive this.
  [[nodiscard]] static Result<std::unique_ptr<TlsServer>> Start(const TlsIdentity& identity,
                                                                const Roles& roles,
                                                                const Gate& gate,
                                                                const ClientTimes& times,
                                                                OpenConnections& open);
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  // Serves a connection that was just accepted. It must be non-blocking.
  void Add(UniqueFd connection);
  // Stops taking calls. Running calls are cancelled at the deadline.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  TlsServer(const Roles& roles, const Gate& gate);
  [[nodiscard]] Caller GetCaller(const grpc::ServerContextBase& context) const;
  [[nodiscard]] CallerService::FindCaller FindCaller() {
    return [this](const grpc::ServerContextBase& context) { return GetCaller(context); };
  }

  const Roles roles_;
  CallerService service_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;   // destroyed before the members that its calls use
  std::optional<Serving::Member> health_;  // destroyed before its server
};

Result<std::unique_ptr<TlsServer>> TlsServer::Start(const TlsIdentity& identity, const Roles& roles,
                                                    const Gate& gate, const ClientTimes& times,
                                                    OpenConnections& open) {
  std::unique_ptr<TlsServer> tls(new TlsServer(roles, gate));
  grpc::ServerBuilder builder;
  ApplySettings(builder, times);
  WatchCalls(builder, gate, open, times, tls->FindCaller());
  builder.SetMaxReceiveMessageSize(kTrustedLimits.max_request_bytes);
  grpc::ResourceQuota quota("tls");
  quota.SetMaxThreads(kThreads);
  builder.SetResourceQuota(quota);
  builder.RegisterService(&tls->service_);
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  tls->acceptor_ = builder.experimental().AddExternalConnectionAcceptor(Type::FROM_FD,
                                                                        MakeCredentials(identity));
  tls->server_ = builder.BuildAndStart();
  if (!tls->server_)
    return Error{ErrorCode::kInternal, "gRPC cannot make a server with the TLS certificate", ""};
  tls->health_.emplace(gate.serving, *tls->server_);
  return tls;
}

TlsServer::TlsServer(const Roles& roles, const Gate& gate)
    : roles_(roles), service_(gate, FindCaller()) {}

TlsServer::~TlsServer() { Shutdown(std::chrono::system_clock::now()); }

void TlsServer::Add(UniqueFd connection) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.fd = connection.Release();
  acceptor_->HandleNewConnection(&parameters);
}

Caller TlsServer::GetCaller(const grpc::ServerContextBase& context) const {
  // gRPC has already refused clients without a certificate. This check keeps roles tied to a
  // certificate even if those settings change.
  if (const auto auth = context.auth_context(); auth && auth->IsPeerAuthenticated())
    return CallerOf(NamesIn(*auth), roles_);
  Caller caller;
  caller.kind = Caller::Kind::kCertificate;
  caller.refusal = Error{ErrorCode::kPermissionDenied, "there is no certificate", ""};
  return caller;
}

void TlsServer::Shutdown(std::chrono::system_clock::time_point deadline) {
  if (!server_) return;
  health_.reset();
  server_->Shutdown(deadline);
  server_->Wait();
  server_.reset();
}

Result<std::unique_ptr<TlsListener>> TlsListener::Start(const std::string& address,
                                                        const TlsFiles& files, const Roles& roles,
                                                        const Gate& gate, const ClientTimes& times,
                                                        spdlog::logger& logger) {
  const auto where = ParseTcpAddress(address);
  if (!where) return where.error();
  std::unique_ptr<TlsListener> tls(new TlsListener(files, roles, gate, times, logger));
  // The stamp comes first: files that change while they are read are then read again.
  tls->stamp_ = ReadStamp(files);
  const auto identity = LoadTlsIdentity(files);
  if (!identity) return identity.error().Wrap("cannot serve by TLS");
  auto server = TlsServer::Start(*identity, roles, gate, times, tls->open_);
  if (!server) return server.error();
  tls->servers_.push_back(*std::move(server));
  tls->stop_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!tls->stop_.valid()) return ErrorFromErrno(errno, "cannot make an eventfd");
  auto listener = ListenAt(*where);
  if (!listener) return listener.error().Wrap("cannot serve by TLS at " + address);
  tls->listener_ = *std::move(listener);
  tls->thread_ = std::thread([&self = *tls] { self.Run(); });
  return tls;
}

TlsListener::TlsListener(const TlsFiles& files, const Roles& roles, const Gate& gate,
                         const ClientTimes& times, spdlog::logger& logger)
    : files_(files),
      roles_(roles),
      gate_(gate),
      times_(times),
      logger_(logger),
      open_(kMaxConnections, gate.refusals) {}

TlsListener::~TlsListener() { Shutdown(std::chrono::system_clock::now()); }

std::uint16_t TlsListener::port() const { return BoundPort(listener_.get()); }

void TlsListener::Shutdown(std::chrono::system_clock::time_point deadline) {
  if (!thread_.joinable()) return;
  (void)eventfd_write(stop_.get(), 1);
  thread_.join();
  listener_.Reset();
  for (auto& server : servers_) server->Shutdown(deadline);
  servers_.clear();
}

void TlsListener::Run() {
  pthread_setname_np(pthread_self(), "profd-tls");
  const Heartbeat::Working working(beat_);
  std::vector<pollfd> polled;
  while (true) {
    polled.assign({{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}});
    open_.AddTo(polled);
    {
      const Heartbeat::Waiting waiting(beat_);
      if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    }
    if (polled[0].revents != 0) return;
    ForgetEnded();
    if (polled[1].revents != 0) Accept();
  }
}

void TlsListener::ForgetEnded() {
  for (const std::string& peer : open_.RemoveEnded())
    gate_.refusals.Refused(peer, "connecting", kRefused);
  // An old server ends with its last connection. The current one waits for new connections.
  const auto current = std::prev(servers_.end());
  for (auto it = servers_.begin(); it != current;)
    it = open_.UseOf(it->get()).connections == 0 ? servers_.erase(it) : std::next(it);
}

void TlsListener::Accept() {
  sockaddr_storage address{};
  socklen_t bytes = sizeof(address);
  UniqueFd connection(accept4(listener_.get(), reinterpret_cast<sockaddr*>(&address), &bytes,
                              SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection.valid()) {
    pollfd stop{stop_.get(), POLLIN, 0};
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
      (void)poll(&stop, 1, kPauseMs);
    return;
  }
  const int yes = 1;
  (void)setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  const auto peer = PeerOf(address);
  const auto refuse = [&](const char* why) {
    gate_.refusals.Refused(peer.name, "connecting", why);
  };
  LoadIfChanged();
  UniqueFd duplicate(fcntl(connection.get(), F_DUPFD_CLOEXEC, 0));
  if (!duplicate.valid()) return refuse("no descriptors are left");
  auto& current = *servers_.back();
  if (!open_.Add({peer.name, peer.address, kTrustedLimits.max_connections, &current},
                 std::move(duplicate)))
    return refuse("too many connections with running calls");
  current.Add(std::move(connection));
}

void TlsListener::LoadIfChanged() {
  const auto stamp = ReadStamp(files_);
  if (stamp == stamp_) return;
  stamp_ = stamp;  // also if the files are not valid: the error is logged once, not per connection
  const auto identity = LoadTlsIdentity(files_);
  auto server = identity ? TlsServer::Start(*identity, roles_, gate_, times_, open_)
                         : Result<std::unique_ptr<TlsServer>>(identity.error());
  if (!server) {
    logger_.error("TLS still uses the previous certificate: {}", server.error().message);
    return;
  }
  servers_.push_back(*std::move(server));
  logger_.info("TLS: new certificate {} or client CA {}", files_.certificate, files_.client_ca);
}

}  // namespace profd::server
