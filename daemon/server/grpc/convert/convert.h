// Convert: converts requests to plans of the domain, and results of the domain to messages of the
// protocol. Its two sources are the only ones that know both. All functions are pure.
#pragma once

#include <grpcpp/support/status.h>

#include <chrono>
#include <cstdint>

#include "daemon/aggregate/dump.h"
#include "daemon/aggregate/profile.h"
#include "daemon/base/result.h"
#include "daemon/history/history.h"
#include "daemon/pipeline/session.h"
#include "daemon/pipeline/status.h"
#include "daemon/rules/rule_set.h"
#include "daemon/server/session_manager.h"
#include "daemon/session/session_control.h"
#include "profd/v1/dump.pb.h"
#include "profd/v1/profile.pb.h"
#include "profd/v1/profiler.pb.h"
#include "profd/v1/status.pb.h"

namespace profd::server {

// A checked CollectRequest.
struct CollectPlan {
  session::SessionSpec spec;
  std::uint64_t duration_ns = 0;  // 0: until stopped
  std::chrono::nanoseconds progress_interval{0};
};

// A checked QueryRequest.
struct QueryPlan {
  store::TimeRange range;
  store::Filter filter;
};

// The ranges of valid requests. The error for any other request names the range.
struct RequestLimits {
  std::uint32_t max_frequency_hz = 100'000;  // kernel.perf_event_max_sample_rate
  std::uint64_t min_duration_ns = 1'000'000;
  std::uint64_t max_duration_ns = 24ull * 3600 * 1'000'000'000;
  std::uint64_t min_progress_ns = 10'000'000;
  std::uint64_t max_progress_ns = 60'000'000'000;
  std::uint32_t cpus = 1;  // of the host
};
inline constexpr std::uint32_t kDefaultFrequencyHz = 99;
inline constexpr std::uint64_t kDefaultProgressNs = 250'000'000;
// The rate at which a dump samples running threads, if the kernel allows it.
inline constexpr std::uint32_t kDumpFrequencyHz = 1'000;

// The part of a StatusResponse about the process itself.
struct DaemonStatus {
  std::uint64_t up_ns = 0;
  std::uint64_t cpu_ns = 0;
  std::uint64_t resident_bytes = 0;
};

[[nodiscard]] Result<session::Target> ToTarget(const v1::Target& target);
[[nodiscard]] Result<CollectPlan> ToPlan(const v1::CollectRequest& request,
                                         const RequestLimits& limits);

[[nodiscard]] Result<QueryPlan> ToPlan(const v1::QueryRequest& request, std::uint64_t now_unix_ns);

// The short session at whose end the dump is taken.
[[nodiscard]] Result<session::SessionSpec> ToSpec(const v1::DumpRequest& request,
                                                  const RequestLimits& limits);

// `rules` decide which time on a CPU is spinning, and name operators and phases; null: none does.
[[nodiscard]] v1::Profile ToProto(const aggregate::Profile& profile,
                                  const rules::RuleSet* rules = nullptr);
[[nodiscard]] v1::Dump ToProto(const aggregate::Dump& dump, const rules::RuleSet* rules = nullptr);
[[nodiscard]] v1::Started ToProto(std::uint32_t session, const pipeline::SessionStart& start);
[[nodiscard]] v1::Progress ToProto(const pipeline::SessionProgress& progress);
[[nodiscard]] v1::HistoryStatus ToProto(const history::HistoryStatus& history);
[[nodiscard]] v1::StatusResponse ToProto(const DaemonStatus& daemon,
                                         const pipeline::BackendStatus& backend,
                                         const std::vector<SessionSummary>& sessions);

// The message is "<what>: <why>". A hint follows on a line of its own.
[[nodiscard]] grpc::Status ToStatus(const Error& error);

}  // namespace profd::server
