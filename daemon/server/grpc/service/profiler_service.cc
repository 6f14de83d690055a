#include "daemon/server/grpc/service/profiler_service.h"

#include <malloc.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "daemon/base/proc/own_usage.h"
#include "daemon/server/grpc/auth/authorization.h"
#include "daemon/server/grpc/convert/module_coverage.h"

namespace profd::server {
namespace {

std::string HostName() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "";
}

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// How often a Collect or Dump checks that its client is still there. gRPC does not wake a thread
// that waits for a session.
constexpr std::chrono::milliseconds kPollInterval{50};
// A dump samples running threads for a few periods of kDumpFrequencyHz.
constexpr std::chrono::milliseconds kDumpWindow{8};
constexpr std::size_t kChunkBytes = 1u << 20;

v1::CollectResponse MakeProgress(const pipeline::Session& session) {
  v1::CollectResponse response;
  *response.mutable_progress() = ToProto(session.Progress());
  return response;
}

}  // namespace

class ProfilerService::Releaser {
 public:
  Releaser(SessionManager& manager, const std::shared_ptr<pipeline::Session>& session)
      : manager_(manager), session_(session) {}
  Releaser(const Releaser&) = delete;
  Releaser& operator=(const Releaser&) = delete;
  ~Releaser() { manager_.Release(session_); }

 private:
  SessionManager& manager_;
  const std::shared_ptr<pipeline::Session>& session_;
};

ProfilerService::ProfilerService(SessionManager& manager, const pipeline::SessionBackend& backend,
                                 const pipeline::StatusSource& status, const Clock& clock,
                                 const ProcFs& proc, spdlog::logger& logger,
                                 const history::History* history, const rules::CurrentRules* rules)
    : manager_(manager),
      backend_(backend),
      status_(status),
      clock_(clock),
      proc_(proc),
      logger_(logger),
      history_(history),
      rules_(rules),
      started_ns_(clock.MonotonicNs()) {}

RequestLimits ProfilerService::Limits() const {
  RequestLimits limits;
  limits.cpus = std::max(1u, std::thread::hardware_concurrency());
  // The kernel lowers this limit when sampling interrupts take too long, so each request reads it.
  if (const auto text = proc_.Read("sys/kernel/perf_event_max_sample_rate", 64)) {
    std::uint32_t hz = 0;
    std::from_chars(text->data(), text->data() + text->size(), hz);
    if (hz != 0) limits.max_frequency_hz = hz;
  }
  return limits;
}

Result<CollectPlan> ProfilerService::Plan(const Caller& caller,
                                          const v1::CollectRequest& request) const {
  auto plan = ToPlan(request, Limits());
  if (!plan) return plan.error();
  PROFD_TRY(Confine(caller, proc_, plan->spec.target));
  PROFD_TRY(Limit(LimitsFor(caller), *plan));
  return plan;
}

Result<session::SessionSpec> ProfilerService::Plan(const Caller& caller,
                                                   const v1::DumpRequest& request) const {
  auto spec = ToSpec(request, Limits());
  if (!spec) return spec.error();
  PROFD_TRY(Confine(caller, proc_, spec->target));
  if (backend_.EndsByItself())
    return Error{ErrorCode::kUnsupported,
                 "this profd replays a recording, which has no live process to dump",
                 "profctl collect shows the recording"};
  return spec;
}

grpc::Status ProfilerService::StatusFor(const Caller& caller, const Error& error) const {
  if (caller.sees_all) return ToStatus(error);
  const Error shown = HideHost(error);
  if (shown.message != error.message)
    logger_.warn("a call of {} has failed: {}", Describe(caller), error.message);
  return ToStatus(shown);
}

grpc::Status ProfilerService::Collect(const Caller& caller, const grpc::ServerContext& context,
                                      const v1::CollectRequest& request, CollectWriter& writer) {
  const auto plan = Plan(caller, request);
  if (!plan) return StatusFor(caller, plan.error());
  auto started = manager_.Start(plan->spec, plan->duration_ns, ClientName(caller),
                                LimitsFor(caller).max_sessions);
  if (!started) {
    logger_.info("collect {}: {}", session::FormatTarget(plan->spec.target),
                 started.error().message);
    return StatusFor(caller, started.error());
  }
  const std::shared_ptr<pipeline::Session> session = *started;
  const Releaser releaser(manager_, session);
  logger_.info("session {}: {}, for {}", session->id(),
               session::FormatTarget(session->spec().target), Describe(caller));

  v1::CollectResponse first;
  *first.mutable_started() = ToProto(session->id(), session->start());
  if (!writer.Write(first) || !StreamProgress(context, *session, plan->progress_interval, writer)) {
    logger_.info("session {}: its client has left", session->id());
    return grpc::Status(grpc::StatusCode::CANCELLED, "cancelled");
  }
  return StreamProfile(caller, *session, writer);
}

bool ProfilerService::StreamProgress(const grpc::ServerContext& context,
                                     const pipeline::Session& session, nanoseconds interval,
                                     CollectWriter& writer) {
  auto next = steady_clock::now();
  bool finishing = false;
  while (true) {
    const auto wait = std::clamp(nanoseconds(next - steady_clock::now()), nanoseconds{0},
                                 nanoseconds{kPollInterval});
    if (session.WaitFinished(wait)) return writer.Write(MakeProgress(session));
    if (context.IsCancelled()) return false;
    // Finishing can take seconds, so the client learns at once that it has begun.
    const bool step = session.Progress().finishing && !std::exchange(finishing, true);
    if (!step && steady_clock::now() < next) continue;
    if (!writer.Write(MakeProgress(session))) return false;
    next = steady_clock::now() + interval;
  }
}

template <typename Response>
grpc::Status ProfilerService::SendInChunks(const Caller& caller, const aggregate::Profile& profile,
                                           grpc::ServerWriter<Response>& writer) const {
  const rules::RuleSetRef rules = rules_ == nullptr ? nullptr : rules_->Get();
  auto proto = ToProto(profile, rules.get());
  AddCoverage(status_.Code(), profile, proto);
  if (!caller.sees_all) HideKernelAddresses(proto);
  std::string bytes;
  if (!proto.SerializeToString(&bytes))
    return ToStatus(Error{ErrorCode::kExhausted, "the profile is larger than 2 GiB",
                          "ask for a shorter time, or collect at a lower frequency"});
  auto gone = grpc::Status(grpc::StatusCode::CANCELLED, "cancelled");
  Response response;
  for (std::size_t at = 0; at < bytes.size(); at += kChunkBytes) {
    response.set_profile_chunk(bytes.substr(at, kChunkBytes));
    if (!writer.Write(response)) return gone;
  }
  response.set_done(true);
  return writer.Write(response) ? grpc::Status::OK : gone;
}

grpc::Status ProfilerService::StreamProfile(const Caller& caller, const pipeline::Session& session,
                                            CollectWriter& writer) {
  const auto result = session.result();
  if (!result) return StatusFor(caller, result.error());
  return SendInChunks<v1::CollectResponse>(caller, **result, writer);
}

Result<aggregate::Profile> ProfilerService::ReadHistory(const Caller& caller,
                                                        const v1::QueryRequest& request) {
  if (history_ == nullptr)
    return Error{ErrorCode::kUnsupported, "this profd keeps no history",
                 "start profd with --history-directory DIR"};
  auto plan = ToPlan(request, clock_.RealtimeNs());
  if (!plan) return plan.error();
  if (!caller.sees_all) plan->filter.exclusive_owner = caller.uid;
  plan->filter.host = HostName();
  if (!query_slots_.try_acquire_for(kQueryTimeout))
    return Error{ErrorCode::kExhausted, "other queries of the history are running", "try again"};
  auto profile = history_->store().Query(plan->range, plan->filter);
  query_slots_.release();
  return profile;
}

grpc::Status ProfilerService::Query(const Caller& caller, const v1::QueryRequest& request,
                                    QueryWriter& writer) {
  auto status = [&] {
    const auto profile = ReadHistory(caller, request);
    if (!profile) return StatusFor(caller, profile.error());
    return SendInChunks<v1::QueryResponse>(caller, *profile, writer);
  }();
  // A query of a long range allocates hundreds of MB in small pieces, which glibc would keep.
  ::malloc_trim(0);
  return status;
}

grpc::Status ProfilerService::Dump(const Caller& caller, const grpc::ServerContext& context,
                                   const v1::DumpRequest& request, v1::Dump& response) {
  const auto spec = Plan(caller, request);
  if (!spec) return StatusFor(caller, spec.error());
  auto started = manager_.Start(*spec, 0, ClientName(caller), LimitsFor(caller).max_sessions);
  if (!started) return StatusFor(caller, started.error());
  const std::shared_ptr<pipeline::Session> session = *started;
  const Releaser releaser(manager_, session);
  // Threads that keep a CPU busy are sampled in this time. The end of the session walks the others.
  (void)session->WaitFinished(kDumpWindow);
  // The session may have ended with its target; then there is nothing to stop.
  (void)manager_.Stop(session->id());
  while (!session->WaitFinished(kPollInterval))
    if (context.IsCancelled()) return grpc::Status(grpc::StatusCode::CANCELLED, "cancelled");
  const auto dump = session->dump();
  if (!dump) return StatusFor(caller, dump.error());
  if ((*dump)->threads.empty())
    return ToStatus(
        Error{ErrorCode::kNotFound, "the target ended during the dump", "see what runs: ps -e"});
  const rules::RuleSetRef rules = rules_ == nullptr ? nullptr : rules_->Get();
  response = ToProto(**dump, rules.get());
  if (!caller.sees_all) HideKernelAddresses(response);
  return grpc::Status::OK;
}

grpc::Status ProfilerService::Stop(const Caller& caller, const v1::StopRequest& request) {
  const auto client = manager_.SessionClient(request.session());
  if (!client) return StatusFor(caller, client.error());
  if (!MaySee(caller, *client))
    return ToStatus(Error{ErrorCode::kPermissionDenied,
                          "session " + std::to_string(request.session()) + " is not yours",
                          "`profctl status` lists your sessions"});
  const auto stopped = manager_.Stop(request.session());
  return stopped ? grpc::Status::OK : StatusFor(caller, stopped.error());
}

grpc::Status ProfilerService::Status(const Caller& caller, v1::StatusResponse& response) {
  DaemonStatus daemon;
  daemon.up_ns = clock_.MonotonicNs() - started_ns_;
  daemon.cpu_ns = OwnCpuNs();
  daemon.resident_bytes = OwnResidentBytes(proc_);
  auto sessions = manager_.List();
  std::erase_if(sessions,
                [&](const SessionSummary& session) { return !MaySee(caller, session.client); });
  response = ToProto(daemon, status_.Status(), sessions);
  if (history_ != nullptr) *response.mutable_history() = ToProto(history_->Status());
  if (!caller.sees_all) HideHost(response);
  return grpc::Status::OK;
}

}  // namespace profd::server
