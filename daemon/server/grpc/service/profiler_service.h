// ProfilerService: the calls of profd.v1.Profiler, for a known caller.
#pragma once

#include <spdlog/logger.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <semaphore>

#include "daemon/base/clock.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/history/history.h"
#include "daemon/pipeline/session.h"
#include "daemon/pipeline/status.h"
#include "daemon/rules/rule_set.h"
#include "daemon/server/grpc/auth/caller.h"
#include "daemon/server/grpc/auth/client_limits.h"
#include "daemon/server/grpc/convert/convert.h"
#include "daemon/server/session_manager.h"
#include "profd/v1/profiler.grpc.pb.h"

namespace profd::server {

// Each call decides what its caller may see (Authorization) and how much it may use (ClientLimits).
// Runs on gRPC's threads. A Collect or Dump keeps its thread until it ends; SessionManager limits
// their number. If the client goes away, the call ends within kPollInterval, and its session ends.
class ProfilerService {
 public:
  using CollectWriter = grpc::ServerWriter<v1::CollectResponse>;
  using QueryWriter = grpc::ServerWriter<v1::QueryResponse>;

  // The number of queries at the same time. Each may hold some 100 MB while its answer is made, so
  // others wait, at most this long.
  static constexpr std::ptrdiff_t kMaxQueries = 2;
  static constexpr std::chrono::seconds kQueryTimeout{10};

  // All must outlive this. `history` null: profd keeps none. `rules` null: nothing is spinning.
  ProfilerService(SessionManager& manager, const pipeline::SessionBackend& backend,
                  const pipeline::StatusSource& status, const Clock& clock, const ProcFs& proc,
                  spdlog::logger& logger, const history::History* history = nullptr,
                  const rules::CurrentRules* rules = nullptr);

  grpc::Status Collect(const Caller& caller, const grpc::ServerContext& context,
                       const v1::CollectRequest& request, CollectWriter& writer);
  grpc::Status Query(const Caller& caller, const v1::QueryRequest& request, QueryWriter& writer);
  grpc::Status Dump(const Caller& caller, const grpc::ServerContext& context,
                    const v1::DumpRequest& request, v1::Dump& response);
  grpc::Status Stop(const Caller& caller, const v1::StopRequest& request);
  grpc::Status Status(const Caller& caller, v1::StatusResponse& response);

 private:
  // Releases the session of a call, no matter how the call ends.
  class Releaser;

  // Returns when the session has a result. False: the client has left.
  [[nodiscard]] bool StreamProgress(const grpc::ServerContext& context,
                                    const pipeline::Session& session,
                                    std::chrono::nanoseconds interval, CollectWriter& writer);
  [[nodiscard]] grpc::Status StreamProfile(const Caller& caller, const pipeline::Session& session,
                                           CollectWriter& writer);
  // Checks the request, and limits it to what this caller may have.
  [[nodiscard]] Result<CollectPlan> Plan(const Caller& caller,
                                         const v1::CollectRequest& request) const;
  [[nodiscard]] Result<session::SessionSpec> Plan(const Caller& caller,
                                                  const v1::DumpRequest& request) const;
  // Runs the query, limited to what this caller may see.
  [[nodiscard]] Result<aggregate::Profile> ReadHistory(const Caller& caller,
                                                       const v1::QueryRequest& request);
  // Callers who do not see everything learn nothing of the host by an error (HideHost).
  [[nodiscard]] grpc::Status StatusFor(const Caller& caller, const Error& error) const;
  [[nodiscard]] RequestLimits Limits() const;
  // What the caller gets, in chunks. Stacks are judged by the rules of now.
  template <typename Response>
  [[nodiscard]] grpc::Status SendInChunks(const Caller& caller, const aggregate::Profile& profile,
                                          grpc::ServerWriter<Response>& writer) const;

  SessionManager& manager_;
  const pipeline::SessionBackend& backend_;
  const pipeline::StatusSource& status_;
  const Clock& clock_;
  const ProcFs& proc_;
  spdlog::logger& logger_;
  const history::History* const history_;
  const rules::CurrentRules* const rules_;
  std::counting_semaphore<kMaxQueries> query_slots_{kMaxQueries};
  const std::uint64_t started_ns_;
};

}  // namespace profd::server
