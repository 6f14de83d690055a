#include "daemon/server/grpc/service/caller_service.h"

#include "daemon/server/grpc/auth/authorization.h"
#include "daemon/server/grpc/convert/convert.h"

namespace profd::server {
namespace {

bool IsRefusal(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::PERMISSION_DENIED ||
         status.error_code() == grpc::StatusCode::UNAUTHENTICATED ||
         status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
}

std::string Describe(const v1::Target& target) {
  const auto known = ToTarget(target);
  return known ? session::FormatTarget(*known) : "of no target";
}

std::string Describe(const v1::QueryRequest& request) {
  const std::string question = request.ShortDebugString();
  return question.empty() ? "of all" : question;
}

std::string OutcomeOf(const grpc::Status& status) {
  return status.ok() ? "ok" : "failed: " + status.error_message();
}

}  // namespace

template <typename Call>
grpc::Status CallerService::Run(const grpc::ServerContext& context, const Verb& verb,
                                const Call& call) {
  const Caller caller = find_caller_(context);
  const std::uint64_t begun_ns = gate_.clock.MonotonicNs();
  const auto admit = [&]() -> Result<void> {
    // Not counted: a caller who may make no call gets the same answer each time, and uses up
    // nothing.
    if (caller.refusal) return *caller.refusal;
    PROFD_TRY(gate_.rates.Count(caller));
    if (verb.who == For::kOperators) PROFD_TRY(CheckOperator(caller, verb.name));
    return gate_.running.Check(caller);
  };
  const auto admitted = admit();
  grpc::Status status = admitted ? call(caller) : ToStatus(admitted.error());
  const std::string what = std::string(verb.name) + (verb.about.empty() ? "" : " " + verb.about);
  if (IsRefusal(status))
    gate_.refusals.Refused(Describe(caller), what, status.error_message());
  else if (verb.logged && caller.kind == Caller::Kind::kCertificate)
    gate_.calls.Ended(caller, context.peer(), what, gate_.clock.MonotonicNs() - begun_ns,
                      OutcomeOf(status));
  return status;
}

grpc::Status CallerService::Collect(grpc::ServerContext* context, const v1::CollectRequest* request,
                                    grpc::ServerWriter<v1::CollectResponse>* writer) {
  return Run(*context, {"Collect", Describe(request->target())}, [&](const Caller& caller) {
    return gate_.service.Collect(caller, *context, *request, *writer);
  });
}

grpc::Status CallerService::Query(grpc::ServerContext* context, const v1::QueryRequest* request,
                                  grpc::ServerWriter<v1::QueryResponse>* writer) {
  return Run(*context, {"Query", Describe(*request), For::kReaders},
             [&](const Caller& caller) { return gate_.service.Query(caller, *request, *writer); });
}

grpc::Status CallerService::Dump(grpc::ServerContext* context, const v1::DumpRequest* request,
                                 v1::Dump* response) {
  return Run(*context, {"Dump", Describe(request->target())}, [&](const Caller& caller) {
    return gate_.service.Dump(caller, *context, *request, *response);
  });
}

grpc::Status CallerService::Stop(grpc::ServerContext* context, const v1::StopRequest* request,
                                 v1::StopResponse* /*response*/) {
  return Run(*context, {"Stop", "session " + std::to_string(request->session())},
             [&](const Caller& caller) { return gate_.service.Stop(caller, *request); });
}

grpc::Status CallerService::Status(grpc::ServerContext* context,
                                   const v1::StatusRequest* /*request*/,
                                   v1::StatusResponse* response) {
  return Run(*context, {"Status", "", For::kReaders, false},
             [&](const Caller& caller) { return gate_.service.Status(caller, *response); });
}

}  // namespace profd::server
