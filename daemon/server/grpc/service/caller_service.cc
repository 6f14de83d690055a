#include "daemon/server/grpc/service/caller_service.h"

#include "daemon/server/grpc/convert/convert.h"

namespace profd::server {
namespace {

bool IsRefusal(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::PERMISSION_DENIED ||
         status.error_code() == grpc::StatusCode::UNAUTHENTICATED ||
         status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
}

// For the log of refusals.
std::string DescribeCall(const char* call, const v1::Target& target) {
  const auto known = ToTarget(target);
  return std::string(call) + " " + (known ? session::FormatTarget(*known) : "of no target");
}

std::string DescribeCall(const v1::QueryRequest& request) {
  const std::string question = request.ShortDebugString();
  return question.empty() ? "Query of all" : "Query " + question;
}

}  // namespace

template <typename Call>
grpc::Status CallerService::Run(const grpc::ServerContext& context, const std::string& what,
                                const Call& call) {
  const Caller caller = find_caller_(context);
  // Not counted: a caller who may make no call gets the same answer each time, and uses up nothing.
  const auto admitted = caller.refusal ? Result<void>(*caller.refusal) : gate_.rates.Count(caller);
  grpc::Status status = [&] {
    if (!admitted) return ToStatus(admitted.error());
    const auto few = gate_.running.Check(caller);
    return few ? call(caller) : ToStatus(few.error());
  }();
  if (IsRefusal(status)) gate_.refusals.Refused(Describe(caller), what, status.error_message());
  return status;
}

grpc::Status CallerService::Collect(grpc::ServerContext* context, const v1::CollectRequest* request,
                                    grpc::ServerWriter<v1::CollectResponse>* writer) {
  return Run(*context, DescribeCall("Collect", request->target()), [&](const Caller& caller) {
    return gate_.service.Collect(caller, *context, *request, *writer);
  });
}

grpc::Status CallerService::Query(grpc::ServerContext* context, const v1::QueryRequest* request,
                                  grpc::ServerWriter<v1::QueryResponse>* writer) {
  return Run(*context, DescribeCall(*request),
             [&](const Caller& caller) { return gate_.service.Query(caller, *request, *writer); });
}

grpc::Status CallerService::Dump(grpc::ServerContext* context, const v1::DumpRequest* request,
                                 v1::Dump* response) {
  return Run(*context, DescribeCall("Dump", request->target()), [&](const Caller& caller) {
    return gate_.service.Dump(caller, *context, *request, *response);
  });
}

grpc::Status CallerService::Stop(grpc::ServerContext* context, const v1::StopRequest* request,
                                 v1::StopResponse* /*response*/) {
  return Run(*context, "Stop session " + std::to_string(request->session()),
             [&](const Caller& caller) { return gate_.service.Stop(caller, *request); });
}

grpc::Status CallerService::Status(grpc::ServerContext* context,
                                   const v1::StatusRequest* /*request*/,
                                   v1::StatusResponse* response) {
  return Run(*context, "Status",
             [&](const Caller& caller) { return gate_.service.Status(caller, *response); });
}

}  // namespace profd::server
