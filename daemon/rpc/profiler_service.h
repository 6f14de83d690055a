// ProfilerService: the calls of profd.v1.Profiler.
#pragma once

#include <spdlog/logger.h>

#include <cstdint>

#include "daemon/base/clock.h"
#include "daemon/base/proc_fs.h"
#include "daemon/rpc/convert.h"
#include "daemon/rpc/session_backend.h"
#include "daemon/rpc/session_manager.h"
#include "profd/v1/profiler.grpc.pb.h"

namespace profd::rpc {

// Runs on gRPC's own threads; one is busy for as long as its Collect or Dump runs, and the manager
// bounds how many do. A caller that goes away is noticed within kLook, and its session ends.
class ProfilerService final : public v1::Profiler::Service {
 public:
  // All must outlive this.
  ProfilerService(SessionManager& manager, SessionBackend& backend, const Clock& clock,
                  const ProcFs& proc, spdlog::logger& logger);

  grpc::Status Collect(grpc::ServerContext* context, const v1::CollectRequest* request,
                       grpc::ServerWriter<v1::CollectResponse>* writer) override;
  grpc::Status Dump(grpc::ServerContext* context, const v1::DumpRequest* request,
                    v1::Dump* response) override;
  grpc::Status Stop(grpc::ServerContext* context, const v1::StopRequest* request,
                    v1::StopResponse* response) override;
  grpc::Status Status(grpc::ServerContext* context, const v1::StatusRequest* request,
                      v1::StatusResponse* response) override;

 private:
  // Whatever way a call ends, its session goes with it.
  class Releaser;
  using Writer = grpc::ServerWriter<v1::CollectResponse>;

  // Until the session has a result, or the caller is gone (false).
  [[nodiscard]] bool StreamProgress(const grpc::ServerContext& context, const Session& session,
                                    std::chrono::nanoseconds interval, Writer& writer);
  [[nodiscard]] grpc::Status StreamProfile(const Session& session, Writer& writer);
  [[nodiscard]] RequestLimits Limits() const;

  SessionManager& manager_;
  SessionBackend& backend_;
  const Clock& clock_;
  const ProcFs& proc_;
  spdlog::logger& logger_;
  const std::uint64_t started_ns_;
};

}  // namespace profd::rpc
