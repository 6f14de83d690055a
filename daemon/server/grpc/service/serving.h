// Serving: the common answer of the health services of all gRPC servers.
#pragma once

#include <grpcpp/server.h>

#include <mutex>
#include <set>

namespace profd::server {

// Methods may be called from any thread.
class Serving {
 public:
  // Sets SERVING or NOT_SERVING for all servers, including those that start later.
  void Set(bool serving);

  // Adds one server as long as it lives. The server must outlive it, and must have the default
  // health service.
  class Member {
   public:
    Member(Serving& all, grpc::Server& server);
    ~Member();
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

   private:
    Serving& all_;
    grpc::HealthCheckServiceInterface* const health_;
  };

 private:
  std::mutex mutex_;
  bool serving_ = true;
  std::set<grpc::HealthCheckServiceInterface*> members_;
};

}  // namespace profd::server
