// TlsListener: accepts at a TCP port, for clients with certificates.
#pragma once

#include <spdlog/logger.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "daemon/base/heartbeat.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/server/grpc/auth/roles.h"
#include "daemon/server/grpc/service/caller_service.h"
#include "daemon/server/grpc/transport/open_connections.h"
#include "daemon/server/grpc/transport/server_settings.h"
#include "daemon/server/grpc/transport/tls_identity.h"

namespace profd::server {

class TlsServer;

// Owned by Server; its own thread accepts. If the files have changed since the last connection, the
// next connection gets their new contents. Open connections keep what they began with. Files that
// are not valid change nothing. There are at most kMaxConnections, and a client has a share of them
// (OpenConnections): an address for those that have made no call, a certificate for the others. A
// connection that ends without a call is logged as refused: its client did not speak TLS, or had no
// valid certificate.
class TlsListener {
 public:
  static constexpr std::size_t kMaxConnections = 256;

  // `address`: see ParseTcpAddress. The members of `gate`, and `logger`, must outlive this.
  [[nodiscard]] static Result<std::unique_ptr<TlsListener>> Start(
      const std::string& address, const TlsFiles& files, const Roles& roles, const Gate& gate,
      const ClientTimes& times, spdlog::logger& logger);
  ~TlsListener();
  TlsListener(const TlsListener&) = delete;
  TlsListener& operator=(const TlsListener&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] const Heartbeat& heartbeat() const { return beat_; }
  // Stops accepting. Running calls are cancelled at the deadline.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  TlsListener(const TlsFiles& files, const Roles& roles, const Gate& gate, const ClientTimes& times,
              spdlog::logger& logger);
  void Run();
  void Accept();
  // Starts a new server if the files have changed. If they are not valid, it logs that, and the
  // last server goes on.
  void LoadIfChanged();
  void ForgetEnded();

  const TlsFiles files_;
  const Roles roles_;
  const Gate gate_;
  const ClientTimes times_;
  spdlog::logger& logger_;
  UniqueFd listener_;
  UniqueFd stop_;  // eventfd
  TlsFilesStamp stamp_{};
  OpenConnections open_;
  // One for each state of the files; the last one takes new connections. Destroyed before the
  // connections that their calls use.
  std::list<std::unique_ptr<TlsServer>> servers_;
  Heartbeat beat_{"TLS connections"};
  std::thread thread_;
};

}  // namespace profd::server
