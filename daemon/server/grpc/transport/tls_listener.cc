#include "daemon/server/grpc/transport/tls_listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "daemon/server/tcp_address.h"

namespace profd::server {
namespace {

constexpr int kPauseMs = 100;  // without descriptors, accepting again at once would fail again
constexpr const char* kRefused = "no TLS, or no certificate that tls.client_ca has signed";

bool HasEnded(int fd) {
  pollfd polled{fd, POLLRDHUP, 0};
  return poll(&polled, 1, 0) > 0;
}

// As gRPC's ServerContext::peer(): "ipv4:192.0.2.1:4242", "ipv6:%5B::1%5D:4242".
std::string PeerName(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    return std::string("ipv4:") + text.data() + ":" + std::to_string(ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  const auto port = std::to_string(ntohs(v6.sin6_port));
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text.data(), text.size());
    return std::string("ipv4:") + text.data() + ":" + port;
  }
  inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  return std::string("ipv6:%5B") + text.data() + "%5D:" + port;
}

}  // namespace

Result<std::unique_ptr<TlsListener>> TlsListener::Start(const std::string& address,
                                                        const TlsFiles& files, const Gate& gate,
                                                        spdlog::logger& logger) {
  const auto where = ParseTcpAddress(address);
  if (!where) return where.error();
  std::unique_ptr<TlsListener> tls(new TlsListener(files, gate, logger));
  tls->stamp_ = StampOf(files);
  const auto identity = LoadTlsIdentity(files);
  if (!identity) return identity.error().Wrap("cannot serve by TLS");
  auto server = TlsServer::Start(*identity, gate);
  if (!server) return server.error();
  tls->generations_.push_back({*std::move(server), {}});
  tls->stop_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!tls->stop_.valid()) return ErrorFromErrno(errno, "cannot make an eventfd");
  auto listener = ListenAt(*where);
  if (!listener) return listener.error().Wrap("cannot serve by TLS at " + address);
  tls->listener_ = *std::move(listener);
  tls->thread_ = std::thread([&self = *tls] { self.Run(); });
  return tls;
}

TlsListener::~TlsListener() { Shutdown(std::chrono::system_clock::now()); }

std::uint16_t TlsListener::port() const { return PortOf(listener_.get()); }

void TlsListener::Shutdown(std::chrono::system_clock::time_point deadline) {
  if (!thread_.joinable()) return;
  (void)eventfd_write(stop_.get(), 1);
  thread_.join();
  listener_.Reset();
  for (auto& generation : generations_) generation.server->Shutdown(deadline);
  generations_.clear();
}

void TlsListener::Run() {
  pthread_setname_np(pthread_self(), "profd-tls");
  std::vector<pollfd> polled;
  while (true) {
    polled.assign({{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}});
    for (const auto& generation : generations_)
      for (const auto& connection : generation.connections)
        polled.push_back({connection.fd.get(), POLLRDHUP, 0});
    if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) return;
    ForgetEnded();
    if (polled[1].revents != 0) Accept();
  }
}

void TlsListener::ForgetEnded() {
  for (auto& generation : generations_)
    std::erase_if(generation.connections, [&](const Connection& connection) {
      if (!HasEnded(connection.fd.get())) return false;
      if (!generation.server->HasCalled(connection.peer))
        gate_.refusals.Refused(connection.peer, "connecting", kRefused);
      generation.server->Forget(connection.peer);
      return true;
    });
  const auto current = std::prev(generations_.end());
  for (auto it = generations_.begin(); it != current;)
    it = it->connections.empty() ? generations_.erase(it) : std::next(it);
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
  const auto peer = PeerName(address);
  if (!MakeRoom()) return gate_.refusals.Refused(peer, "connecting", "too many connections");
  LoadIfChanged();
  UniqueFd ours(fcntl(connection.get(), F_DUPFD_CLOEXEC, 0));
  if (!ours.valid()) return gate_.refusals.Refused(peer, "connecting", "no descriptors are left");
  auto& current = generations_.back();
  current.connections.push_back({std::move(ours), peer});
  current.server->Add(std::move(connection));
}

bool TlsListener::MakeRoom() {
  std::size_t all = 0;
  for (const auto& generation : generations_) all += generation.connections.size();
  if (all < kMaxConnections) return true;
  for (const auto& generation : generations_)
    for (const auto& connection : generation.connections)
      if (!generation.server->HasCalled(connection.peer)) {
        // gRPC sees its end, and then so do we.
        (void)shutdown(connection.fd.get(), SHUT_RDWR);
        return true;
      }
  return false;
}

void TlsListener::LoadIfChanged() {
  const auto stamp = StampOf(files_);
  if (stamp == stamp_) return;
  stamp_ = stamp;
  const auto identity = LoadTlsIdentity(files_);
  auto server = identity ? TlsServer::Start(*identity, gate_)
                         : Result<std::unique_ptr<TlsServer>>(identity.error());
  if (!server) {
    logger_.error("TLS goes on with the certificate it had: {}", server.error().message);
    return;
  }
  generations_.push_back({*std::move(server), {}});
  logger_.info("TLS: new certificate {} or client CA {}", files_.certificate, files_.client_ca);
}

}  // namespace profd::server
