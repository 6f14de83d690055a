// ProfilerService: the calls of profd.v1.Profiler, for callers who are known.
#pragma once

#include <spdlog/logger.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <semaphore>

#include "daemon/base/clock.h"
#include "daemon/base/proc_fs.h"
#include "daemon/history/history.h"
#include "daemon/pipeline/session_backend.h"
#include "daemon/pipeline/status.h"
#include "daemon/server/grpc/auth/caller.h"
#include "daemon/server/grpc/auth/client_limits.h"
#include "daemon/server/grpc/convert/convert.h"
#include "daemon/server/session_manager.h"
#include "profd/v1/profiler.grpc.pb.h"

namespace profd::server {

// Each call decides what its caller may see (Authorization) and how much of profd it may take
// (ClientLimits). Runs on gRPC's own threads; one is busy for as long as its Collect or Dump runs,
// and the manager bounds how many do. A caller that goes away is noticed within kLook, and its
// session ends.
class ProfilerService {
 public:
  using CollectWriter = grpc::ServerWriter<v1::CollectResponse>;
  using QueryWriter = grpc::ServerWriter<v1::QueryResponse>;

  // At the same time: each may hold some 100 MB while its answer is made. Others wait in turn.
  static constexpr std::ptrdiff_t kMaxQueries = 2;
  static constexpr std::chrono::seconds kQueryPatience{10};

  // All must outlive this. `history` is null where none is kept.
  ProfilerService(SessionManager& manager, const pipeline::SessionBackend& backend,
                  const pipeline::StatusSource& status, const Clock& clock, const ProcFs& proc,
                  spdlog::logger& logger, const history::History* history = nullptr);

  grpc::Status Collect(const Caller& caller, const grpc::ServerContext& context,
                       const v1::CollectRequest& request, CollectWriter& writer);
  grpc::Status Query(const Caller& caller, const v1::QueryRequest& request, QueryWriter& writer);
  grpc::Status Dump(const Caller& caller, const grpc::ServerContext& context,
                    const v1::DumpRequest& request, v1::Dump& response);
  grpc::Status Stop(const Caller& caller, const v1::StopRequest& request);
  grpc::Status Status(const Caller& caller, v1::StatusResponse& response);

 private:
  // Whatever way a call ends, its session goes with it.
  class Releaser;

  // Until the session has a result, or the caller is gone (false).
  [[nodiscard]] bool StreamProgress(const grpc::ServerContext& context,
                                    const pipeline::Session& session,
                                    std::chrono::nanoseconds interval, CollectWriter& writer);
  [[nodiscard]] grpc::Status StreamProfile(const Caller& caller, const pipeline::Session& session,
                                           CollectWriter& writer);
  // What is requested, as far as this caller may have it.
  [[nodiscard]] Result<CollectPlan> Plan(const Caller& caller,
                                         const v1::CollectRequest& request) const;
  [[nodiscard]] Result<session::SessionSpec> Plan(const Caller& caller,
                                                  const v1::DumpRequest& request) const;
  // Of the windows that are kept, what this caller may see.
  [[nodiscard]] Result<aggregate::Profile> ReadHistory(const Caller& caller,
                                                       const v1::QueryRequest& request);
  [[nodiscard]] RequestLimits Limits() const;

  SessionManager& manager_;
  const pipeline::SessionBackend& backend_;
  const pipeline::StatusSource& status_;
  const Clock& clock_;
  const ProcFs& proc_;
  spdlog::logger& logger_;
  const history::History* const history_;
  std::counting_semaphore<kMaxQueries> query_slots_{kMaxQueries};
  const std::uint64_t started_ns_;
};

}  // namespace profd::server
