// WebServer: answers GET and HEAD at 127.0.0.1, to clients that know its token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/result.h"

namespace profd::client {

// What stands behind the token, decoded: bytes of the client, in any form.
struct WebRequest {
  std::string path;  // "/", "/api/v1/sources"
  std::vector<std::pair<std::string, std::string>> parameters{};

  // Of the first of this name; "": there is none.
  [[nodiscard]] std::string Parameter(std::string_view name) const;
};

struct WebAnswer {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};  // besides those of every answer
};

// Whether a client that uses this Host header means this host, by an address or as localhost. With
// any port: that of a tunnel of ssh is another one.
[[nodiscard]] bool IsHostLoopback(std::string_view host);

// Serves from Start to destruction. A thread of libmicrohttpd for each connection, which has one
// request; it calls the handler. A request without the token is answered 404, one for another Host
// or without any 403, one that is neither GET nor HEAD 405, and bodies of requests are not read. A
// client that has not shown the token is dropped when kMaxStrangers others have connected since, or
// after kIdleSeconds without a byte, so that no client can keep the owner of the token out for
// long. Beyond kMaxAtOnce requests at once the answer is 503.
class WebServer {
 public:
  static constexpr std::size_t kMaxStrangers = 64;
  static constexpr std::size_t kMaxAtOnce = 16;
  static constexpr std::size_t kMaxHeaderBytes = 32u << 10;
  static constexpr unsigned kIdleSeconds = 10;

  // From several threads at once.
  using Handler = std::function<WebAnswer(const WebRequest& request)>;

  // `port` 0: any that is free. kUnavailable: another program listens there.
  [[nodiscard]] static Result<std::unique_ptr<WebServer>> Start(std::uint16_t port,
                                                                Handler handler);
  // Waits for the handlers that run.
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  // "http://127.0.0.1:4711/0123456789abcdef0123456789abcdef/"
  [[nodiscard]] std::string address() const;

 private:
  struct Library;  // what libmicrohttpd calls, and its state

  explicit WebServer(std::unique_ptr<Library> library);

  const std::unique_ptr<Library> library_;
};

}  // namespace profd::client
