#include "client/web/server/web_server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <deque>
#include <exception>
#include <mutex>

#include "client/web/server/web_token.h"
#include "daemon/base/unique_fd.h"

namespace profd::client {
namespace {

// At its own limit, libmicrohttpd closes new connections, the owner's as well. Those that are
// dropped count until their threads have ended.
constexpr unsigned kLibraryLimit = 1024;
// A client that has shown the token may wait that long for its answer, and take that long to read
// a part of it.
constexpr unsigned kAnswerSeconds = 900;

constexpr std::array<std::pair<const char*, const char*>, 8> kHeaders{{
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri "
     "'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
    // A connection that waits for another request would count.
    {"Connection", "close"},
}};

MHD_Result Send(MHD_Connection* connection, WebAnswer answer) {
  auto body = std::make_unique<std::string>(std::move(answer.body));
  MHD_Response* response = MHD_create_response_from_buffer_with_free_callback_cls(
      body->size(), body->data(), [](void* held) { delete static_cast<std::string*>(held); },
      body.get());
  if (response == nullptr) return MHD_NO;
  (void)body.release();  // the response owns it
  (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.type.c_str());
  for (const auto& [name, value] : kHeaders) (void)MHD_add_response_header(response, name, value);
  for (const auto& [name, value] : answer.headers)
    (void)MHD_add_response_header(response, name.c_str(), value.c_str());
  const MHD_Result queued = MHD_queue_response(connection, answer.status, response);
  MHD_destroy_response(response);
  return queued;
}

Result<UniqueFd> ListenAt(std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrorFromErrno(errno, "cannot make a socket");
  // The same port may be used at once after a server that has ended.
  const int yes = 1;
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(fd.get(), SOMAXCONN) == 0)
    return fd;
  const int error_number = errno;
  Error error = ErrorFromErrno(error_number, "cannot listen at 127.0.0.1:" + std::to_string(port));
  if (error_number == EADDRINUSE) {
    error.code = ErrorCode::kUnavailable;
    error.hint = "choose another port, or leave --port out";
  }
  return error;
}

std::uint16_t BoundPort(int fd) {
  sockaddr_in bound{};
  socklen_t bytes = sizeof bound;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &bytes) != 0) return 0;
  return ntohs(bound.sin_port);
}

}  // namespace

std::string WebRequest::Parameter(std::string_view name) const {
  const auto found = std::ranges::find(parameters, name, &decltype(parameters)::value_type::first);
  return found == parameters.end() ? "" : found->second;
}

bool IsHostLoopback(std::string_view host) {
  if (const auto colon = host.rfind(':'); colon != std::string_view::npos && !host.ends_with(']')) {
    const std::string_view port = host.substr(colon + 1);
    if (port.empty() || port.size() > 5 ||
        !std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; }))
      return false;
    host = host.substr(0, colon);
  }
  std::string name(host);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name == "localhost" || name == "127.0.0.1" || name == "[::1]";
}

struct WebServer::Library {
  struct Stop {
    void operator()(MHD_Daemon* running) const { MHD_stop_daemon(running); }
  };

  Handler handler;
  std::string token;
  std::uint16_t port = 0;
  std::mutex mutex;
  std::deque<int> strangers;                 // descriptors, oldest first; with mutex
  std::size_t at_once = 0;                   // requests that are answered; with mutex
  std::unique_ptr<MHD_Daemon, Stop> daemon;  // destroyed first: its threads use the above

  // Ends with the object: a request that has shown the token is answered.
  class Turn {
   public:
    explicit Turn(Library& of) : library_(of) {
      const std::scoped_lock lock(library_.mutex);
      granted_ = ++library_.at_once <= kMaxAtOnce;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      const std::scoped_lock lock(library_.mutex);
      --library_.at_once;
    }
    [[nodiscard]] bool granted() const { return granted_; }

   private:
    Library& library_;
    bool granted_ = false;
  };

  void IsNoStranger(MHD_Connection* connection) {
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == nullptr) return;
    const std::scoped_lock lock(mutex);
    std::erase(strangers, info->connect_fd);
  }

  // The path behind the token; "": it is not there.
  [[nodiscard]] std::string_view BehindToken(std::string_view url) const {
    if (!url.starts_with('/')) return {};
    url.remove_prefix(1);
    if (!IsSameToken(token, url.substr(0, kWebTokenDigits))) return {};
    url.remove_prefix(kWebTokenDigits);
    return url.starts_with('/') ? url : std::string_view();
  }

  MHD_Result Handle(MHD_Connection* connection, std::string_view url, std::string_view method) {
    const char* host =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    if (host == nullptr || !IsHostLoopback(host))
      return Send(connection, {.status = MHD_HTTP_FORBIDDEN, .body = "for this host only\n"});
    if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD)
      return Send(connection, {.status = MHD_HTTP_METHOD_NOT_ALLOWED,
                               .body = "GET and HEAD only\n",
                               .headers = {{MHD_HTTP_HEADER_ALLOW, "GET, HEAD"}}});
    const std::string_view path = BehindToken(url);
    if (path.empty())
      return Send(connection, {.status = MHD_HTTP_NOT_FOUND,
                               .body = "nothing here: the address that profctl web has printed "
                                       "is longer\n"});
    IsNoStranger(connection);
    const Turn turn(*this);
    if (!turn.granted())
      return Send(connection,
                  {.status = MHD_HTTP_SERVICE_UNAVAILABLE, .body = "too many requests at once\n"});
    (void)MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, kAnswerSeconds);
    WebRequest request{.path = std::string(path)};
    (void)MHD_get_connection_values(
        connection, MHD_GET_ARGUMENT_KIND,
        [](void* to, MHD_ValueKind, const char* name, const char* value) {
          static_cast<WebRequest*>(to)->parameters.emplace_back(name,
                                                                value == nullptr ? "" : value);
          return MHD_YES;
        },
        &request);
    return Send(connection, handler(request));
  }

  // The library gives the signature.
  // NOLINTBEGIN(readability-function-size,readability-non-const-parameter)
  static MHD_Result Answer(void* context, MHD_Connection* connection, const char* url,
                           const char* method, const char* /*version*/, const char* /*body*/,
                           std::size_t* body_bytes, void** /*request*/) {
    if (*body_bytes != 0) return MHD_NO;  // closes it
    try {
      return static_cast<Library*>(context)->Handle(connection, url, method);
    } catch (const std::exception& exception) {  // out of memory: none may reach the library
      return Send(connection, {.status = MHD_HTTP_INTERNAL_SERVER_ERROR,
                               .body = std::string(exception.what()) + "\n"});
    }
  }
  // NOLINTEND(readability-function-size,readability-non-const-parameter)

  static void Connection(void* context, MHD_Connection* connection, void** /*socket*/,
                         MHD_ConnectionNotificationCode code) {
    auto& self = *static_cast<Library*>(context);
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == nullptr) return;
    const std::scoped_lock lock(self.mutex);
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
      std::erase(self.strangers, info->connect_fd);
      return;
    }
    self.strangers.push_back(info->connect_fd);
    // The library owns the connection. It closes it when it finds the shutdown.
    if (self.strangers.size() <= kMaxStrangers) return;
    (void)::shutdown(self.strangers.front(), SHUT_RDWR);
    self.strangers.pop_front();
  }
};

WebServer::WebServer(std::unique_ptr<Library> library) : library_(std::move(library)) {}
WebServer::~WebServer() = default;

std::string WebServer::address() const {
  return "http://127.0.0.1:" + std::to_string(library_->port) + "/" + library_->token + "/";
}

Result<std::unique_ptr<WebServer>> WebServer::Start(std::uint16_t port, Handler handler) {
  auto token = MakeWebToken();
  if (!token) return token.error();
  auto fd = ListenAt(port);
  if (!fd) return fd.error();
  auto library = std::make_unique<Library>();
  library->handler = std::move(handler);
  library->token = *std::move(token);
  library->port = BoundPort(fd->get());
  library->daemon.reset(MHD_start_daemon(
      MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_ITC,
      0, nullptr, nullptr, &Library::Answer, library.get(), MHD_OPTION_LISTEN_SOCKET, fd->get(),
      MHD_OPTION_CONNECTION_LIMIT, kLibraryLimit, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      kMaxHeaderBytes, MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds, MHD_OPTION_NOTIFY_CONNECTION,
      &Library::Connection, library.get(), MHD_OPTION_END));
  if (!library->daemon)
    return Error{ErrorCode::kInternal, "cannot serve at 127.0.0.1: no thread", ""};
  (void)fd->Release();  // the library closes it
  return std::unique_ptr<WebServer>(new WebServer(std::move(library)));
}

}  // namespace profd::client
