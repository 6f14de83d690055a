// ProfilerService: the calls of profd.v1.Profiler, for callers who are known.
#pragma once

#include <spdlog/logger.h>

#include <cstdint>

#include "daemon/base/clock.h"
#include "daemon/base/proc_fs.h"
#include "daemon/rpc/caller.h"
#include "daemon/rpc/client_limits.h"
#include "daemon/rpc/convert.h"
#include "daemon/rpc/session_backend.h"
#include "daemon/rpc/session_manager.h"
#include "profd/v1/profiler.grpc.pb.h"

namespace profd::rpc {

// Each call decides what its caller may see (Authorization) and how much of profd it may take
// (ClientLimits). Runs on gRPC's own threads; one is busy for as long as its Collect or Dump runs,
// and the manager bounds how many do. A caller that goes away is noticed within kLook, and its
// session ends.
class ProfilerService {
 public:
  using CollectWriter = grpc::ServerWriter<v1::CollectResponse>;

  // All must outlive this.
  ProfilerService(SessionManager& manager, SessionBackend& backend, const Clock& clock,
                  const ProcFs& proc, spdlog::logger& logger);

  grpc::Status Collect(const Caller& caller, const grpc::ServerContext& context,
                       const v1::CollectRequest& request, CollectWriter& writer);
  grpc::Status Dump(const Caller& caller, const grpc::ServerContext& context,
                    const v1::DumpRequest& request, v1::Dump& response);
  grpc::Status Stop(const Caller& caller, const v1::StopRequest& request);
  grpc::Status Status(const Caller& caller, v1::StatusResponse& response);

 private:
  // Whatever way a call ends, its session goes with it.
  class Releaser;

  // Until the session has a result, or the caller is gone (false).
  [[nodiscard]] bool StreamProgress(const grpc::ServerContext& context, const Session& session,
                                    std::chrono::nanoseconds interval, CollectWriter& writer);
  [[nodiscard]] grpc::Status StreamProfile(const Caller& caller, const Session& session,
                                           CollectWriter& writer);
  // What is asked for, as far as this caller may have it.
  [[nodiscard]] Result<CollectPlan> Plan(const Caller& caller,
                                         const v1::CollectRequest& request) const;
  [[nodiscard]] Result<source::SessionSpec> Plan(const Caller& caller,
                                                 const v1::DumpRequest& request) const;
  [[nodiscard]] RequestLimits Limits() const;

  SessionManager& manager_;
  SessionBackend& backend_;
  const Clock& clock_;
  const ProcFs& proc_;
  spdlog::logger& logger_;
  const std::uint64_t started_ns_;
};

}  // namespace profd::rpc
