// CallerService: the gRPC service. It finds the caller of each call, and passes the call to
// ProfilerService.
#pragma once

#include <functional>
#include <string>

#include "daemon/base/clock.h"
#include "daemon/server/grpc/auth/call_log.h"
#include "daemon/server/grpc/auth/caller.h"
#include "daemon/server/grpc/auth/refusal_log.h"
#include "daemon/server/grpc/service/profiler_service.h"
#include "daemon/server/grpc/service/serving.h"
#include "profd/v1/profiler.grpc.pb.h"

namespace profd::server {

// What every call needs. All of it outlives the gRPC servers.
struct Gate {
  ProfilerService& service;
  CallRates& rates;
  RunningCalls& running;
  RefusalLog& refusals;
  CallLog& calls;
  const Clock& clock;
  Serving& serving;
};

// Each gRPC server has one. A server that takes connections of one user knows the caller; the TLS
// server finds the caller in the context of the call, where the handshake has put the certificate.
// Runs on gRPC's threads.
class CallerService final : public v1::Profiler::Service {
 public:
  using FindCaller = std::function<Caller(const grpc::ServerContextBase&)>;

  CallerService(const Gate& gate, FindCaller find_caller)
      : gate_(gate), find_caller_(std::move(find_caller)) {}

  grpc::Status Collect(grpc::ServerContext* context, const v1::CollectRequest* request,
                       grpc::ServerWriter<v1::CollectResponse>* writer) override;
  grpc::Status Query(grpc::ServerContext* context, const v1::QueryRequest* request,
                     grpc::ServerWriter<v1::QueryResponse>* writer) override;
  grpc::Status Dump(grpc::ServerContext* context, const v1::DumpRequest* request,
                    v1::Dump* response) override;
  grpc::Status Stop(grpc::ServerContext* context, const v1::StopRequest* request,
                    v1::StopResponse* response) override;
  grpc::Status Status(grpc::ServerContext* context, const v1::StatusRequest* request,
                      v1::StatusResponse* response) override;

 private:
  enum class For : std::uint8_t { kOperators, kReaders };
  // Of a call: "Collect", what it is about, and who may make it.
  struct Verb {
    const char* name;
    std::string about;
    For who = For::kOperators;
    bool logged = true;
  };
  // Runs the call unless its caller may not make it, may make none or calls too often. Logs a
  // refusal, and every call of a remote client that is more than a look at the status.
  template <typename Call>
  grpc::Status Run(const grpc::ServerContext& context, const Verb& verb, const Call& call);

  const Gate gate_;
  const FindCaller find_caller_;
};

}  // namespace profd::server
