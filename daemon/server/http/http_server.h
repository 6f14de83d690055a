// HttpServer: answers GET and HEAD at a loopback address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/base/result.h"

// Types of libmicrohttpd. Its header is included only in the .cc.
struct MHD_Daemon;
struct MHD_Connection;

namespace profd::server {

struct HttpAnswer {
  unsigned status = 404;
  std::string type = "text/plain; charset=utf-8";
  std::string body = "profd serves /metrics and /healthz\n";
};

// Whether a client that uses this Host header ("localhost:9899") means this host and `port`: a
// loopback address, or localhost. Names that only lead here are not accepted.
[[nodiscard]] bool IsLoopbackHost(std::string_view host, std::uint16_t port);

// Serves from Start to destruction. One thread of libmicrohttpd does all the work and also calls
// the handler. A new connection beyond kMaxConnections replaces the oldest one, so that no client
// can keep others out. A connection ends after kMaxHeaderBytes of headers, or kIdleSeconds without
// a byte. Bodies of requests are not read. A request with a Host that is not IsLoopbackHost() is
// refused; one without Host is not, since browsers, which other sites could use, always send it.
class HttpServer {
 public:
  static constexpr std::size_t kMaxConnections = 16;
  static constexpr std::size_t kMaxHeaderBytes = 16u << 10;
  static constexpr unsigned kIdleSeconds = 5;

  using Handler = std::function<HttpAnswer(const std::string& path)>;

  // `address`: see ParseLoopbackAddress. kUnavailable: another process listens there.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> Start(const std::string& address,
                                                                 Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  struct Callbacks;  // of libmicrohttpd, on its thread
  struct Stop {
    void operator()(MHD_Daemon* daemon) const;
  };

  explicit HttpServer(Handler handler) : handler_(std::move(handler)) {}

  const Handler handler_;
  std::uint16_t port_ = 0;
  std::deque<int> connections_;               // descriptors, oldest first; used by the thread
  std::unique_ptr<MHD_Daemon, Stop> daemon_;  // destroyed first: its thread uses the above
};

}  // namespace profd::server
