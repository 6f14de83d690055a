// TlsListener: accepts at a TCP port, for clients with certificates.
#pragma once

#include <spdlog/logger.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/server/grpc/service/caller_service.h"
#include "daemon/server/grpc/transport/tls_identity.h"
#include "daemon/server/grpc/transport/tls_server.h"

namespace profd::server {

// A thread of its own accepts. When the files have changed since the last connection, the next one
// is served by what they hold now; connections that stand keep what they began with, and files that
// are wrong change nothing. Bounded: kMaxConnections, of which the oldest that has made no call
// gives way to a new one. A connection that ends without a call is logged as refused: it was not
// TLS, or showed no certificate that is believed.
class TlsListener {
 public:
  static constexpr std::size_t kMaxConnections = 256;

  // `address`: see ParseTcpAddress. What is in `gate`, and `logger`, must outlive this.
  [[nodiscard]] static Result<std::unique_ptr<TlsListener>> Start(const std::string& address,
                                                                  const TlsFiles& files,
                                                                  const Gate& gate,
                                                                  spdlog::logger& logger);
  ~TlsListener();
  TlsListener(const TlsListener&) = delete;
  TlsListener& operator=(const TlsListener&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  // Accepts no more; calls under way are cut off at the deadline.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  struct Connection {
    UniqueFd fd;       // of our own, to see it end
    std::string peer;  // as gRPC names it
  };
  // All connections that were made while the files held the same.
  struct Generation {
    std::unique_ptr<TlsServer> server;
    std::vector<Connection> connections;  // oldest first
  };

  TlsListener(const TlsFiles& files, const Gate& gate, spdlog::logger& logger)
      : files_(files), gate_(gate), logger_(logger) {}
  void Run();
  void Accept();
  // Also where the files are wrong: then that is said, and what was right goes on.
  void LoadIfChanged();
  [[nodiscard]] bool MakeRoom();
  void ForgetEnded();

  const TlsFiles files_;
  const Gate gate_;
  spdlog::logger& logger_;
  UniqueFd listener_;
  UniqueFd stop_;  // eventfd
  TlsFilesStamp stamp_{};
  std::list<Generation> generations_;  // the last one takes new connections
  std::thread thread_;
};

}  // namespace profd::server
