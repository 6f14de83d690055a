// RefusingService: answers the calls that no other service of a gRPC server takes, with a refusal.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <utility>

#include "daemon/server/grpc/auth/refusal_log.h"
#include "daemon/server/grpc/service/caller_service.h"

namespace profd::server {

// For the callers who are refused: gRPC's own services, health and reflection, are no exception.
// Runs on gRPC's threads.
class RefusingService final : public grpc::CallbackGenericService {
 public:
  // `refusals` must outlive the server. Every caller is one who is refused.
  RefusingService(RefusalLog& refusals, CallerService::FindCaller find_caller)
      : refusals_(refusals), find_caller_(std::move(find_caller)) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

 private:
  RefusalLog& refusals_;
  const CallerService::FindCaller find_caller_;
};

}  // namespace profd::server
