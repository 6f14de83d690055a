#include "daemon/server/http/pull_listener.h"

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/server/grpc/auth/certificate_names.h"
#include "daemon/server/tcp_address.h"

namespace profd::server {
namespace {

// At its own limit, libmicrohttpd refuses a connection and does not say so.
constexpr unsigned kLibraryLimit = PullListener::kMaxConnections + 2;
constexpr int kPauseMs = 100;  // when no descriptors are left
constexpr const char* kTlsVersions = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
constexpr const char* kRetrySeconds = "10";
constexpr const char* kBytes = "application/octet-stream";
constexpr const char* kWords = "text/plain; charset=utf-8";

struct Answer {
  unsigned status = MHD_HTTP_OK;
  std::string body;
};

unsigned StatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return MHD_HTTP_BAD_REQUEST;
    case ErrorCode::kNotFound:
      return MHD_HTTP_NOT_FOUND;
    case ErrorCode::kPermissionDenied:
      return MHD_HTTP_FORBIDDEN;
    case ErrorCode::kExhausted:
      return MHD_HTTP_TOO_MANY_REQUESTS;
    case ErrorCode::kUnavailable:
      return MHD_HTTP_SERVICE_UNAVAILABLE;
    default:
      return MHD_HTTP_INTERNAL_SERVER_ERROR;
  }
}

Answer AnswerFor(const Error& error) {
  return {StatusOf(error.code),
          error.message + "\n" + (error.hint.empty() ? "" : error.hint + "\n")};
}

// A client that has ended its side, or the whole connection.
bool HasLeft(int fd) {
  pollfd polled{fd, POLLRDHUP, 0};
  return ::poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

std::string NameOf(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address != nullptr && address->sa_family == AF_INET) {
    const auto& peer = *reinterpret_cast<const sockaddr_in*>(address);
    inet_ntop(AF_INET, &peer.sin_addr, text.data(), text.size());
    return std::string("ipv4:") + text.data() + ":" + std::to_string(ntohs(peer.sin_port));
  }
  if (address != nullptr && address->sa_family == AF_INET6) {
    const auto& peer = *reinterpret_cast<const sockaddr_in6*>(address);
    inet_ntop(AF_INET6, &peer.sin6_addr, text.data(), text.size());
    return std::string("ipv6:[") + text.data() + "]:" + std::to_string(ntohs(peer.sin6_port));
  }
  return "an unknown address";
}

// None: there is no certificate that the CA has signed for a client, and that holds today.
std::optional<std::vector<CertificateName>> VerifiedNames(gnutls_session_t session) {
  gnutls_typed_vdata_st purpose{};
  purpose.type = GNUTLS_DT_KEY_PURPOSE_OID;
  purpose.data = reinterpret_cast<unsigned char*>(const_cast<char*>(GNUTLS_KP_TLS_WWW_CLIENT));
  unsigned wrong = 0;
  if (gnutls_certificate_verify_peers(session, &purpose, 1, &wrong) != GNUTLS_E_SUCCESS ||
      wrong != 0)
    return std::nullopt;
  unsigned count = 0;
  const gnutls_datum_t* chain = gnutls_certificate_get_peers(session, &count);
  if (chain == nullptr || count == 0) return std::nullopt;
  auto names =
      NamesInCertificate(std::string(reinterpret_cast<const char*>(chain->data), chain->size));
  if (!names) return std::nullopt;
  return *std::move(names);
}

}  // namespace

// The HTTP server of one state of the files. Its callbacks run on the connections' threads.
class PullListener::TlsHttp {
 public:
  [[nodiscard]] static Result<std::unique_ptr<TlsHttp>> Start(PullListener& owner,
                                                              const TlsIdentity& identity);
  ~TlsHttp() {
    // Sessions end, so that the threads do.
    ending_ = true;
    daemon_.reset();
  }
  TlsHttp(const TlsHttp&) = delete;
  TlsHttp& operator=(const TlsHttp&) = delete;

  // Whether it was taken.
  bool Add(UniqueFd connection, const sockaddr_storage& address, socklen_t bytes);
  [[nodiscard]] bool IsIdle() {
    const std::scoped_lock lock(mutex_);
    return connections_.empty();
  }
  // Closes the oldest connection without a session, if there are too many.
  void MakeRoom();

 private:
  struct Stop {
    void operator()(MHD_Daemon* daemon) const { MHD_stop_daemon(daemon); }
  };
  struct Connection {
    int fd = -1;
    bool has_session = false;
  };

  TlsHttp(PullListener& owner, TlsIdentity identity)
      : owner_(owner), identity_(std::move(identity)) {}

  // The library gives the signatures.
  // NOLINTBEGIN(readability-function-size,readability-non-const-parameter)
  static MHD_Result OnRequest(void* context, MHD_Connection* connection, const char* url,
                              const char* method, const char* version, const char* body,
                              std::size_t* body_bytes, void** request);
  static MHD_Result AddArgument(void* text, MHD_ValueKind kind, const char* key, const char* value);
  static void OnConnection(void* context, MHD_Connection* connection, void** socket,
                           MHD_ConnectionNotificationCode code);
  // NOLINTEND(readability-function-size,readability-non-const-parameter)
  [[nodiscard]] Answer AnswerTo(MHD_Connection* connection, const std::string& path,
                                const ScrapeArguments& arguments, const std::string& peer);
  void SetSession(int fd, bool has_session);

  PullListener& owner_;
  const TlsIdentity identity_;
  std::atomic<bool> ending_ = false;
  std::mutex mutex_;
  std::vector<Connection> connections_;       // oldest first
  std::unique_ptr<MHD_Daemon, Stop> daemon_;  // destroyed first: its threads use the above
};

Result<std::unique_ptr<PullListener::TlsHttp>> PullListener::TlsHttp::Start(
    PullListener& owner, const TlsIdentity& identity) {
  std::unique_ptr<TlsHttp> server(new TlsHttp(owner, identity));
  server->daemon_.reset(MHD_start_daemon(
      MHD_USE_TLS | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
          MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC | MHD_USE_POLL,
      0, nullptr, nullptr, &TlsHttp::OnRequest, server.get(), MHD_OPTION_HTTPS_MEM_KEY,
      server->identity_.key.c_str(), MHD_OPTION_HTTPS_MEM_CERT,
      server->identity_.certificate.c_str(), MHD_OPTION_HTTPS_MEM_TRUST,
      server->identity_.client_ca.c_str(), MHD_OPTION_HTTPS_PRIORITIES, kTlsVersions,
      MHD_OPTION_CONNECTION_LIMIT, kLibraryLimit, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      kMaxHeaderBytes, MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds, MHD_OPTION_NOTIFY_CONNECTION,
      &TlsHttp::OnConnection, server.get(), MHD_OPTION_END));
  if (!server->daemon_)
    return Error{ErrorCode::kInternal, "libmicrohttpd cannot serve with the TLS certificate", ""};
  return server;
}

bool PullListener::TlsHttp::Add(UniqueFd connection, const sockaddr_storage& address,
                                socklen_t bytes) {
  // The library owns the descriptor in any case.
  return MHD_add_connection(daemon_.get(), connection.Release(),
                            reinterpret_cast<const sockaddr*>(&address), bytes) == MHD_YES;
}

void PullListener::TlsHttp::MakeRoom() {
  const std::scoped_lock lock(mutex_);
  if (connections_.size() < kMaxConnections) return;
  const auto oldest = std::ranges::find(connections_, false, &Connection::has_session);
  // The library closes it when it finds the shutdown.
  if (oldest != connections_.end()) (void)::shutdown(oldest->fd, SHUT_RDWR);
}

void PullListener::TlsHttp::SetSession(int fd, bool has_session) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(connections_, fd, &Connection::fd);
  if (found != connections_.end()) found->has_session = has_session;
}

void PullListener::TlsHttp::OnConnection(void* context, MHD_Connection* connection,
                                         void** /*socket*/, MHD_ConnectionNotificationCode code) {
  auto& self = *static_cast<TlsHttp*>(context);
  const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (info == nullptr) return;
  const std::scoped_lock lock(self.mutex_);
  if (code == MHD_CONNECTION_NOTIFY_CLOSED)
    std::erase_if(self.connections_,
                  [&](const Connection& one) { return one.fd == info->connect_fd; });
  else
    self.connections_.push_back({info->connect_fd});
}

MHD_Result PullListener::TlsHttp::AddArgument(void* text, MHD_ValueKind /*kind*/, const char* key,
                                              const char* value) {
  auto& arguments = *static_cast<ScrapeArguments*>(text);
  arguments.emplace_back(key, value == nullptr ? "" : value);
  return MHD_YES;
}

Answer PullListener::TlsHttp::AnswerTo(MHD_Connection* connection, const std::string& path,
                                       const ScrapeArguments& arguments, const std::string& peer) {
  std::string what = "GET " + path;
  for (const auto& [name, value] : arguments)
    what.append(what.find('?') == std::string::npos ? "?" : "&")
        .append(name)
        .append("=")
        .append(value);
  const auto* tls = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  const auto names = tls == nullptr
                         ? std::nullopt
                         : VerifiedNames(static_cast<gnutls_session_t>(tls->tls_session));
  if (!names) {
    const Error error{ErrorCode::kPermissionDenied,
                      "no certificate of a client that tls.client_ca has signed", ""};
    owner_.refusals_.Refused(peer, what, error.message);
    return AnswerFor(error);
  }
  const Caller caller = CallerOf(*names, owner_.options_.roles);
  const auto refuse = [&](const Error& error) {
    owner_.refusals_.Refused(Describe(caller), what, error.message);
    return AnswerFor(error);
  };
  if (caller.refusal) return refuse(*caller.refusal);
  const auto request = ParseScrape(path, arguments);
  if (!request) return AnswerFor(request.error());
  const auto* socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  const int fd = socket == nullptr ? -1 : socket->connect_fd;
  const std::uint64_t begun_ns = owner_.clock_.MonotonicNs();
  SetSession(fd, true);
  auto bytes = owner_.scrapes_.Collect(caller, *request, [&] { return ending_ || HasLeft(fd); });
  SetSession(fd, false);
  if (!bytes && (bytes.error().code == ErrorCode::kPermissionDenied ||
                 bytes.error().code == ErrorCode::kExhausted))
    return refuse(bytes.error());
  owner_.calls_.Ended(caller, peer, what, owner_.clock_.MonotonicNs() - begun_ns,
                      bytes ? "ok" : "failed: " + bytes.error().message);
  return bytes ? Answer{MHD_HTTP_OK, *std::move(bytes)} : AnswerFor(bytes.error());
}

// NOLINTBEGIN(readability-function-size,readability-non-const-parameter)
MHD_Result PullListener::TlsHttp::OnRequest(void* context, MHD_Connection* connection,
                                            const char* url, const char* method,
                                            const char* /*version*/, const char* /*body*/,
                                            std::size_t* body_bytes, void** /*request*/) {
  auto& self = *static_cast<TlsHttp*>(context);
  if (*body_bytes != 0) return MHD_NO;  // closes it
  Answer answer{MHD_HTTP_METHOD_NOT_ALLOWED, "GET only\n"};
  if (std::string_view(method) == MHD_HTTP_METHOD_GET) {
    ScrapeArguments arguments;
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, &TlsHttp::AddArgument, &arguments);
    const auto* peer = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    answer = self.AnswerTo(connection, url, arguments,
                           NameOf(peer == nullptr ? nullptr : peer->client_addr));
  }
  MHD_Response* response = MHD_create_response_from_buffer(answer.body.size(), answer.body.data(),
                                                           MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  const bool good = answer.status == MHD_HTTP_OK;
  (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, good ? kBytes : kWords);
  (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  if (answer.status == MHD_HTTP_TOO_MANY_REQUESTS)
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, kRetrySeconds);
  const MHD_Result queued = MHD_queue_response(connection, answer.status, response);
  MHD_destroy_response(response);
  return queued;
}
// NOLINTEND(readability-function-size,readability-non-const-parameter)

Result<std::unique_ptr<PullListener>> PullListener::Start(const PullOptions& options,
                                                          Scrapes& scrapes, const Clock& clock,
                                                          spdlog::logger& logger) {
  const auto where = ParseTcpAddress(options.address);
  if (!where) return where.error();
  std::unique_ptr<PullListener> pull(new PullListener(options, scrapes, clock, logger));
  // The stamp comes first: files that change while they are read are then read again.
  pull->stamp_ = ReadStamp(options.files);
  const auto identity = LoadTlsIdentity(options.files);
  if (!identity) return identity.error().Wrap("cannot serve scrapers");
  auto server = TlsHttp::Start(*pull, *identity);
  if (!server) return server.error();
  pull->servers_.push_back(*std::move(server));
  pull->stop_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!pull->stop_.valid()) return ErrorFromErrno(errno, "cannot make an eventfd");
  auto listener = ListenAt(*where);
  if (!listener) {
    auto error = listener.error().Wrap("cannot serve scrapers at " + options.address);
    error.hint = "choose another address: --pprof-listen";
    return error;
  }
  pull->listener_ = *std::move(listener);
  pull->thread_ = std::thread([&self = *pull] { self.Run(); });
  return pull;
}

PullListener::PullListener(const PullOptions& options, Scrapes& scrapes, const Clock& clock,
                           spdlog::logger& logger)
    : options_(options),
      scrapes_(scrapes),
      clock_(clock),
      logger_(logger),
      refusals_(clock, logger),
      calls_(clock, logger) {}

PullListener::~PullListener() { Shutdown(); }

void PullListener::Shutdown() {
  if (!thread_.joinable()) return;
  (void)eventfd_write(stop_.get(), 1);
  thread_.join();
  servers_.clear();
}

std::uint16_t PullListener::port() const { return BoundPort(listener_.get()); }

void PullListener::Run() {
  pthread_setname_np(pthread_self(), "profd-pull");
  const Heartbeat::Working working(beat_);
  while (true) {
    std::array<pollfd, 2> polled{{{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}}};
    {
      const Heartbeat::Waiting waiting(beat_);
      if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    }
    if (polled[0].revents != 0) return;
    if (polled[1].revents != 0) Accept();
  }
}

void PullListener::Accept() {
  sockaddr_storage address{};
  socklen_t bytes = sizeof(address);
  UniqueFd connection(::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&address), &bytes,
                                SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection.valid()) {
    pollfd stop{stop_.get(), POLLIN, 0};
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
      (void)::poll(&stop, 1, kPauseMs);
    return;
  }
  LoadIfChanged();
  TlsHttp& current = *servers_.back();
  current.MakeRoom();
  if (!current.Add(std::move(connection), address, bytes))
    refusals_.Refused(NameOf(reinterpret_cast<const sockaddr*>(&address)), "connecting",
                      "too many connections");
}

void PullListener::LoadIfChanged() {
  // An old server ends with its last connection.
  while (servers_.size() > 1 && servers_.front()->IsIdle()) servers_.pop_front();
  const auto stamp = ReadStamp(options_.files);
  if (stamp == stamp_) return;
  stamp_ = stamp;  // also if the files are not valid: the error is logged once
  const auto identity = LoadTlsIdentity(options_.files);
  auto server = identity ? TlsHttp::Start(*this, *identity)
                         : Result<std::unique_ptr<TlsHttp>>(identity.error());
  if (!server) {
    logger_.error("scrapers still get the previous certificate: {}", server.error().message);
    return;
  }
  servers_.push_back(*std::move(server));
  logger_.info("scrapers: new certificate {} or client CA {}", options_.files.certificate,
               options_.files.client_ca);
}

}  // namespace profd::server
