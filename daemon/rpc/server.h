// Server: the gRPC server at one address.
#pragma once

#include <grpcpp/server.h>

#include <chrono>
#include <memory>
#include <string>

#include "daemon/base/result.h"
#include "daemon/rpc/profiler_service.h"

namespace profd::rpc {

inline constexpr const char* kDefaultAddress = "unix:///run/profd/profd.sock";

// Listens from Start to Shutdown, with the health service and reflection. At a unix socket (mode
// 0660; its directory is made when missing; one that a dead daemon left is taken over, one that
// answers is not), or at a loopback address, which every user of the host can reach.
class Server {
 public:
  // `service` must outlive this. kUnavailable: another daemon listens there.
  [[nodiscard]] static Result<std::unique_ptr<Server>> Start(const std::string& address,
                                                             ProfilerService& service);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Takes no more calls; those under way are cut off after `grace`.
  void Shutdown(std::chrono::milliseconds grace);
  [[nodiscard]] const std::string& address() const { return address_; }
  // The port chosen, for a TCP address with port 0.
  [[nodiscard]] int port() const { return port_; }

 private:
  Server(std::string address, std::string socket_path, std::unique_ptr<grpc::Server> server,
         int port);

  const std::string address_;
  const std::string socket_path_;  // "" for TCP
  std::unique_ptr<grpc::Server> server_;
  const int port_;
};

}  // namespace profd::rpc
