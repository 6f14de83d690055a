// CallWatch: counts every call of a gRPC server, and ends those whose clients do not read.
#pragma once

#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_interceptor.h>

#include <chrono>
#include <utility>

#include "daemon/server/grpc/service/caller_service.h"
#include "daemon/server/grpc/transport/open_connections.h"
#include "daemon/server/grpc/transport/server_settings.h"

namespace profd::server {

// Each gRPC server has one. It makes an object for each call, also of gRPC's own services (health,
// reflection), which gRPC keeps until the answer is sent. Where too many calls of the client are
// running, CallerService refuses the next one with the reason; one of gRPC's own services is
// cancelled here. Of these a certificate without a role gets health alone. A call is cancelled,
// too, when its client does not take a message of the answer in time. If the socket is full then,
// the connection is closed.
class CallWatch final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  // The members of `gate`, and `connections`, must outlive the server.
  CallWatch(const Gate& gate, OpenConnections& connections, CallerService::FindCaller find_caller,
            std::chrono::milliseconds unread)
      : gate_(gate),
        connections_(connections),
        find_caller_(std::move(find_caller)),
        unread_(unread) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;

 private:
  class WatchedCall;

  const Gate gate_;
  OpenConnections& connections_;
  const CallerService::FindCaller find_caller_;
  const std::chrono::milliseconds unread_;
};

// Adds a CallWatch to the server that is built.
void WatchCalls(grpc::ServerBuilder& builder, const Gate& gate, OpenConnections& connections,
                const ClientTimes& times, CallerService::FindCaller find_caller);

}  // namespace profd::server
