#include "daemon/server/grpc/service/refusing_service.h"

#include <memory>

#include "daemon/server/grpc/convert/convert.h"

namespace profd::server {
namespace {

// Is all that gRPC keeps of the call.
class Refusal final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Refusal(const grpc::Status& status) { Finish(status); }
  void OnDone() override { const std::unique_ptr<Refusal> ends(this); }
};

}  // namespace

grpc::ServerGenericBidiReactor* RefusingService::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  const Caller caller = find_caller_(*context);
  const grpc::Status status = ToStatus(*caller.refusal);
  refusals_.Refused(Describe(caller), context->method(), status.error_message());
  return std::make_unique<Refusal>(status).release();
}

}  // namespace profd::server
