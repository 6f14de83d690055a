// HttpServer: answers GET on this host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "daemon/base/result.h"

// libmicrohttpd's; its header stays out of ours.
struct MHD_Daemon;
struct MHD_Connection;

namespace profd::server {

struct HttpAnswer {
  unsigned status = 404;
  std::string type = "text/plain; charset=utf-8";
  std::string body = "profd serves /metrics and /healthz\n";
};

// One thread, libmicrohttpd's, which also runs the handler. Bounded: kMaxConnections, of which the
// oldest gives way to a new one, so that nobody keeps others out; kMaxHeaderBytes; kIdleSeconds
// without a byte. Bodies of requests are not read: only GET and HEAD are answered. Serves from
// Start to destruction.
class HttpServer {
 public:
  static constexpr std::size_t kMaxConnections = 16;
  static constexpr std::size_t kMaxHeaderBytes = 16u << 10;
  static constexpr unsigned kIdleSeconds = 5;

  using Handler = std::function<HttpAnswer(const std::string& path)>;

  // `address`: see ParseLoopbackAddress. kUnavailable: something else listens there.
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
  std::deque<int> connections_;               // descriptors, oldest first; of the thread
  std::unique_ptr<MHD_Daemon, Stop> daemon_;  // first to go: its thread uses the above
};

}  // namespace profd::server
