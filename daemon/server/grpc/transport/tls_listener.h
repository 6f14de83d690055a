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

#include "daemon/base/heartbeat.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/server/grpc/service/caller_service.h"
#include "daemon/server/grpc/transport/tls_identity.h"

namespace profd::server {

class TlsServer;

// Owned by Server; its own thread accepts. If the files have changed since the last connection, the
// next connection gets their new contents. Open connections keep what they began with. Files that
// are not valid change nothing. There are at most kMaxConnections; a new connection replaces the
// oldest one that has made no call. A connection that ends without a call is logged as refused: its
// client did not speak TLS, or had no valid certificate.
class TlsListener {
 public:
  static constexpr std::size_t kMaxConnections = 256;

  // `address`: see ParseTcpAddress. The members of `gate`, and `logger`, must outlive this.
  [[nodiscard]] static Result<std::unique_ptr<TlsListener>> Start(const std::string& address,
                                                                  const TlsFiles& files,
                                                                  const Gate& gate,
                                                                  spdlog::logger& logger);
  ~TlsListener();
  TlsListener(const TlsListener&) = delete;
  TlsListener& operator=(const TlsListener&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] const Heartbeat& heartbeat() const { return beat_; }
  // Stops accepting. Running calls are cancelled at the deadline.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  struct Connection {
    UniqueFd fd;       // a duplicate of gRPC's descriptor, to see the connection end
    std::string peer;  // gRPC's name of the connection
  };
  // All connections that were made with the same contents of the files.
  struct Generation {
    std::unique_ptr<TlsServer> server;
    std::vector<Connection> connections;  // oldest first
  };

  TlsListener(const TlsFiles& files, const Gate& gate, spdlog::logger& logger);
  void Run();
  void Accept();
  // Begins a new generation if the files have changed. If they are not valid, it logs that, and the
  // last generation goes on.
  void LoadIfChanged();
  // False: all connections have made calls.
  [[nodiscard]] bool MakeRoom();
  void ForgetEnded();

  const TlsFiles files_;
  const Gate gate_;
  spdlog::logger& logger_;
  UniqueFd listener_;
  UniqueFd stop_;  // eventfd
  TlsFilesStamp stamp_{};
  std::list<Generation> generations_;  // the last one takes new connections
  Heartbeat beat_{"TLS connections"};
  std::thread thread_;
};

}  // namespace profd::server
