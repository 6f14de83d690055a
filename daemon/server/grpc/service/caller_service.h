// CallerService: what stands between gRPC and the service: it knows who calls.
#pragma once

#include <functional>
#include <string>

#include "daemon/server/grpc/auth/caller.h"
#include "daemon/server/grpc/auth/refusal_log.h"
#include "daemon/server/grpc/service/profiler_service.h"
#include "daemon/server/grpc/service/serving.h"
#include "profd/v1/profiler.grpc.pb.h"

namespace profd::server {

// What all calls go through, whoever makes them. All outlive the server.
struct Gate {
  ProfilerService& service;
  CallRates& rates;
  RefusalLog& refusals;
  Serving& serving;
};

// One for each gRPC server. A server that takes connections of one user only knows the caller by
// itself; another must find it in what the handshake of the connection has left in the context.
// Runs on gRPC's threads.
class CallerService final : public v1::Profiler::Service {
 public:
  using CallerOf = std::function<Caller(const grpc::ServerContext&)>;

  CallerService(const Gate& gate, CallerOf caller_of)
      : gate_(gate), caller_of_(std::move(caller_of)) {}

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
  // Runs a call of somebody who has not called too often, and logs it where it is refused.
  template <typename Call>
  grpc::Status Run(const grpc::ServerContext& context, const std::string& what, const Call& call);

  const Gate gate_;
  const CallerOf caller_of_;
};

}  // namespace profd::server
