// Server: serves ProfilerService at its unix sockets and by TLS.
#pragma once

#include <spdlog/logger.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "daemon/base/clock.h"
#include "daemon/base/result.h"
#include "daemon/server/grpc/auth/call_log.h"
#include "daemon/server/grpc/auth/client_limits.h"
#include "daemon/server/grpc/auth/refusal_log.h"
#include "daemon/server/grpc/auth/roles.h"
#include "daemon/server/grpc/service/profiler_service.h"
#include "daemon/server/grpc/service/serving.h"
#include "daemon/server/grpc/transport/connections.h"
#include "daemon/server/grpc/transport/server_settings.h"
#include "daemon/server/grpc/transport/tls_listener.h"
#include "daemon/server/grpc/transport/unix_listener.h"

namespace profd::server {

inline constexpr const char* kDefaultAddress = "unix:///run/profd/profd.sock";
inline constexpr const char* kPublicSocket = "/run/profd/public.sock";
inline constexpr const char* kGroup = "profd";

// For clients with certificates.
struct TlsOptions {
  std::string address;  // see ParseTcpAddress
  TlsFiles files;
  Roles roles{};  // of certificates
};

struct ServerOptions {
  std::string address;              // of the socket for root and the group
  std::string group;                // its members see everything; "": only root and profd's user do
  std::string public_socket;        // path of the socket for all users of the host; "": none
  InheritedSockets inherited;       // used if their paths are those above
  std::optional<TlsOptions> tls{};  // none: no TCP
  ClientTimes times{};
};

// Serves from Start to Shutdown, with the health service and reflection. The two sockets have the
// modes 0660 and 0666. A missing directory is made. A socket that a dead daemon has left is
// replaced; one that answers is not. Methods may be called from any thread; Start and Shutdown only
// once.
class Server {
 public:
  // `service`, `clock` and `logger` must outlive this. kUnavailable: another daemon listens at the
  // socket.
  [[nodiscard]] static Result<std::unique_ptr<Server>> Start(ServerOptions options,
                                                             ProfilerService& service,
                                                             const Clock& clock,
                                                             spdlog::logger& logger);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // 0: TLS is off.
  [[nodiscard]] std::uint16_t tls_port() const { return tls_ ? tls_->port() : 0; }
  [[nodiscard]] std::uint64_t refusals() const { return refusals_.refusals(); }

  // Of the threads that accept connections.
  [[nodiscard]] std::vector<const Heartbeat*> heartbeats() const;

  // The answer to gRPC health checks.
  void SetServing(bool serving) { serving_.Set(serving); }
  // Stops taking calls. Running calls are cancelled after `grace`.
  void Shutdown(std::chrono::milliseconds grace);

 private:
  Server(ProfilerService& service, const Clock& clock, spdlog::logger& logger);

  CallRates rates_;
  RunningCalls running_;
  RefusalLog refusals_;
  CallLog calls_;
  Serving serving_;
  const Gate gate_;
  std::unique_ptr<Connections> connections_;
  std::unique_ptr<TlsListener> tls_;
};

}  // namespace profd::server
