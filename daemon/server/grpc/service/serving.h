// Serving: what the health services of all gRPC servers say.
#pragma once

#include <grpcpp/server.h>

#include <mutex>
#include <set>

namespace profd::server {

// All methods from any thread.
class Serving {
 public:
  // SERVING, or NOT_SERVING: of each server that is there, and of those to come.
  void Set(bool serving);

  // One server, which outlives this and has the default health service.
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
