#include "daemon/server/http/http_server.h"

#include <microhttpd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "daemon/server/tcp_address.h"

namespace profd::server {
namespace {

// At its own limit, libmicrohttpd stops accepting and would not report a new connection. So its
// limit is above ours.
constexpr unsigned kLibraryLimit = HttpServer::kMaxConnections + 2;

constexpr std::uint16_t kHttpPort = 80;  // what a Host without a port means

MHD_Result Send(MHD_Connection* connection, const HttpAnswer& answer) {
  MHD_Response* response = MHD_create_response_from_buffer(
      answer.body.size(), const_cast<char*>(answer.body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.type.c_str());
  (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  const MHD_Result queued = MHD_queue_response(connection, answer.status, response);
  MHD_destroy_response(response);
  return queued;
}

}  // namespace

struct HttpServer::Callbacks {
  // The library gives the signature.
  // NOLINTBEGIN(readability-function-size,readability-non-const-parameter)
  static MHD_Result Answer(void* context, MHD_Connection* connection, const char* url,
                           const char* method, const char* /*version*/, const char* /*body*/,
                           std::size_t* body_bytes, void** /*request*/) {
    const auto& self = *static_cast<const HttpServer*>(context);
    if (*body_bytes != 0) return MHD_NO;  // closes it
    const std::string_view verb = method;
    // A page of another site whose name leads to this host (DNS rebinding) sends that name.
    const char* host =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    if (host != nullptr && !IsLoopbackHost(host, self.port_))
      return Send(connection, {MHD_HTTP_FORBIDDEN, HttpAnswer().type,
                               "for clients of this host only: ask for http://localhost:" +
                                   std::to_string(self.port_) + "/\n"});
    if (verb != MHD_HTTP_METHOD_GET && verb != MHD_HTTP_METHOD_HEAD)
      return Send(connection, {MHD_HTTP_METHOD_NOT_ALLOWED, HttpAnswer().type, "GET only\n"});
    return Send(connection, self.handler_(url));
  }
  // NOLINTEND(readability-function-size,readability-non-const-parameter)

  static void Connection(void* context, MHD_Connection* connection, void** /*socket*/,
                         MHD_ConnectionNotificationCode code) {
    auto& known = static_cast<HttpServer*>(context)->connections_;
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == nullptr) return;
    const int fd = info->connect_fd;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
      std::erase(known, fd);
      return;
    }
    known.push_back(fd);
    // The library owns the connection. It closes it when it finds the shutdown.
    if (known.size() > kMaxConnections) (void)shutdown(known.front(), SHUT_RDWR);
  }
};

bool IsLoopbackHost(std::string_view host, std::uint16_t port) {
  std::uint16_t named = kHttpPort;
  const auto colon = host.rfind(':');
  if (colon != std::string_view::npos && !host.ends_with(']')) {
    const std::string_view digits = host.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), named);
    if (error != std::errc() || end != digits.data() + digits.size()) return false;
    host = host.substr(0, colon);
  }
  std::string name(host);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return named == port && ParseLoopbackAddress(name + ":0").ok();
}

void HttpServer::Stop::operator()(MHD_Daemon* daemon) const { MHD_stop_daemon(daemon); }

HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& address, Handler handler) {
  const auto where = ParseLoopbackAddress(address);
  if (!where) return where.error();
  auto fd = ListenAt(*where);
  if (!fd) {
    auto error = fd.error().Wrap("cannot serve metrics at " + address);
    error.hint = "choose another address: --metrics-listen";
    return error;
  }
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(handler)));
  server->port_ = BoundPort(fd->get());
  server->daemon_.reset(MHD_start_daemon(
      MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_ITC, 0, nullptr, nullptr, &Callbacks::Answer,
      server.get(), MHD_OPTION_LISTEN_SOCKET, fd->get(), MHD_OPTION_CONNECTION_LIMIT, kLibraryLimit,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMaxHeaderBytes, MHD_OPTION_CONNECTION_TIMEOUT,
      kIdleSeconds, MHD_OPTION_NOTIFY_CONNECTION, &Callbacks::Connection, server.get(),
      MHD_OPTION_END));
  if (!server->daemon_)
    return Error{ErrorCode::kInternal, "cannot serve metrics at " + address + ": no thread", ""};
  (void)fd->Release();  // the library closes it
  return server;
}

}  // namespace profd::server
