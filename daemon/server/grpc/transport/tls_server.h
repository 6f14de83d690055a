// TlsServer: the gRPC server of connections by TLS.
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/server/grpc/auth/caller.h"
#include "daemon/server/grpc/service/caller_service.h"
#include "daemon/server/grpc/transport/tls_identity.h"

namespace profd::server {

// gRPC makes the handshake: a connection whose other end shows no certificate, or one that the CA
// has not signed or that has expired, comes to no call. Whoever has one sees everything; its name,
// the subject's common name or else the first alternative one, is what limits and logs go by. It
// listens nowhere: connections are handed to it. Owned by TlsListener.
class TlsServer {
 public:
  [[nodiscard]] static Result<std::unique_ptr<TlsServer>> Start(const TlsIdentity& identity,
                                                                const Gate& gate);
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  // Non-blocking, just accepted.
  void Add(UniqueFd connection);
  // Whether a call has come by the connection of this peer, in gRPC's words.
  [[nodiscard]] bool HasCalled(const std::string& peer) const;
  // The connection has ended: its port may be another's soon.
  void Forget(const std::string& peer);
  // Takes no more calls; those under way are cut off at the deadline.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  explicit TlsServer(const Gate& gate);
  [[nodiscard]] Caller CallerOf(const grpc::ServerContext& context);

  mutable std::mutex mutex_;
  std::set<std::string> called_;  // peers
  CallerService service_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;   // goes before all of that
  std::optional<Serving::Member> health_;  // first to go
};

}  // namespace profd::server
