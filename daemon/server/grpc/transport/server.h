// Server: all the ways that lead to the service.
#pragma once

#include <spdlog/logger.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "daemon/base/clock.h"
#include "daemon/base/result.h"
#include "daemon/server/grpc/auth/client_limits.h"
#include "daemon/server/grpc/auth/refusal_log.h"
#include "daemon/server/grpc/service/profiler_service.h"
#include "daemon/server/grpc/service/serving.h"
#include "daemon/server/grpc/transport/connections.h"
#include "daemon/server/grpc/transport/tls_listener.h"
#include "daemon/server/grpc/transport/unix_listener.h"

namespace profd::server {

inline constexpr const char* kDefaultAddress = "unix:///run/profd/profd.sock";
inline constexpr const char* kPublicSocket = "/run/profd/public.sock";
inline constexpr const char* kGroup = "profd";

// TCP, for clients with certificates.
struct TlsOptions {
  std::string address;  // ParseTcpAddress
  TlsFiles files;
};

struct ServerOptions {
  std::string address;              // of the socket for root and the group
  std::string group;                // whose members see all; "": profd's own user only, and root
  std::string public_socket;        // path of the one for all users of the host; "": none
  InheritedSockets inherited;       // taken where their paths are those above
  std::optional<TlsOptions> tls{};  // none: no TCP
};

// Listens from Start to Shutdown, with the health service and reflection. Sockets: mode 0660 and
// 0666; their directory is made when missing; one that a dead daemon left is taken over, one that
// answers is not.
class Server {
 public:
  // `service`, `clock` and `logger` must outlive this. kUnavailable: another daemon listens there.
  [[nodiscard]] static Result<std::unique_ptr<Server>> Start(ServerOptions options,
                                                             ProfilerService& service,
                                                             const Clock& clock,
                                                             spdlog::logger& logger);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Of TLS; 0: there is none.
  [[nodiscard]] std::uint16_t tls_port() const { return tls_ ? tls_->port() : 0; }
  [[nodiscard]] std::uint64_t refusals() const { return refusals_.refusals(); }

  // What gRPC health checks are told.
  void SetServing(bool serving) { serving_.Set(serving); }
  // Takes no more calls; those under way are cut off after `grace`.
  void Shutdown(std::chrono::milliseconds grace);

 private:
  Server(ProfilerService& service, const Clock& clock, spdlog::logger& logger);

  CallRates rates_;
  RefusalLog refusals_;
  Serving serving_;
  const Gate gate_;
  std::unique_ptr<Connections> connections_;
  std::unique_ptr<TlsListener> tls_;
};

}  // namespace profd::server
