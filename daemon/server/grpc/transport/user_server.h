// UserServer: the gRPC server of all connections of one user.
#pragma once

#include <grpcpp/server.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/server/grpc/auth/caller.h"
#include "daemon/server/grpc/service/caller_service.h"

namespace profd::server {

// gRPC does not say which connection a call came by. So each user has a server of their own that
// listens nowhere: who calls is known by where the call arrives, and nothing that a client sends
// can change it. Owned by Connections, on its thread.
class UserServer {
 public:
  // `caller` without a pid. What is in `gate` must outlive this.
  [[nodiscard]] static Result<std::unique_ptr<UserServer>> Start(const Caller& caller,
                                                                 const Gate& gate);
  ~UserServer();
  UserServer(const UserServer&) = delete;
  UserServer& operator=(const UserServer&) = delete;

  // Serves a connection, non-blocking, that process `pid` of the user has made.
  void Add(UniqueFd connection, pid_t pid);
  // Takes no more calls; those under way are cut off at the deadline.
  void Shutdown(std::chrono::system_clock::time_point deadline);
  [[nodiscard]] const Caller& caller() const { return caller_; }

 private:
  UserServer(Caller caller, const Gate& gate);
  [[nodiscard]] Caller CallerOf(const grpc::ServerContext& context) const;

  const Caller caller_;
  mutable std::mutex mutex_;
  std::map<std::string, std::uint32_t> pids_;  // by what gRPC calls the connection; for people
  CallerService service_;
  std::unique_ptr<grpc::Server> server_;   // goes before all of that
  std::optional<Serving::Member> health_;  // first to go
};

}  // namespace profd::server
