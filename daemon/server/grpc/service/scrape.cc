#include "daemon/server/grpc/service/scrape.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "daemon/fleet/profile/export_profile.h"
#include "daemon/fleet/targets/pprof_encoder.h"
#include "daemon/server/grpc/auth/authorization.h"
#include "daemon/server/grpc/auth/client_limits.h"
#include "daemon/server/grpc/convert/convert.h"

namespace profd::server {
namespace {

constexpr std::chrono::milliseconds kPollInterval{50};
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

Error Wrong(const std::string& what) {
  return Error{ErrorCode::kInvalidArgument, what,
               "arguments are seconds=1..600 and one of pid=NUMBER, comm=NAME and service=NAME, "
               "which may have label=NAME=VALUE beside it"};
}

std::optional<std::uint32_t> Number(std::string_view text, std::uint32_t most) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number == 0 || number > most ? std::nullopt : std::optional(number);
}

Result<void> SetArgument(std::string_view name, const std::string& value, ScrapeRequest& request) {
  if (name == "seconds") {
    const auto seconds = Number(value, Scrapes::kMostSeconds);
    if (!seconds) return Wrong("seconds must be a whole number from 1 to 600");
    request.seconds = *seconds;
  } else if (name == "pid") {
    const auto pid = Number(value, 1u << 30);
    if (!pid) return Wrong("pid must be the number of a process");
    request.pid = *pid;
  } else if (name == "comm") {
    if (value.empty()) return Wrong("comm must be the name of a program");
    request.comm = value;
  } else if (name == "service") {
    if (value.empty()) return Wrong("service must be the name of a service");
    request.labels.push_back("service.name=" + value);
  } else if (name == "label") {
    if (value.find('=') == std::string::npos || value.starts_with('='))
      return Wrong("label must be NAME=VALUE");
    request.labels.push_back(value);
  } else {
    return Wrong("there is no argument of this name");
  }
  return {};
}

Result<CollectPlan> PlanFor(const ScrapeRequest& request) {
  v1::CollectRequest collect;
  collect.set_mode(request.on_cpu_only ? v1::MODE_ON_CPU : v1::MODE_WALL);
  collect.set_duration_ns(request.seconds * kNsPerSecond);
  collect.set_no_wakers(true);  // profile.proto has no place for them
  collect.add_steps("none");
  v1::Target& target = *collect.mutable_target();
  if (request.pid != 0)
    target.mutable_pids()->add_id(request.pid);
  else if (!request.comm.empty())
    target.set_comm(request.comm);
  else if (!request.labels.empty())
    target.mutable_labels()->mutable_label()->Add(request.labels.begin(), request.labels.end());
  else
    target.set_all(true);
  return ToPlan(collect, RequestLimits{});
}

}  // namespace

Result<ScrapeRequest> ParseScrape(std::string_view path, const ScrapeArguments& arguments) {
  ScrapeRequest request;
  if (path != "/debug/pprof/profile" && path != "/debug/pprof/wall")
    return Error{ErrorCode::kNotFound, "profd serves /debug/pprof/profile and /debug/pprof/wall",
                 ""};
  request.on_cpu_only = path == "/debug/pprof/profile";
  for (const auto& [name, value] : arguments) PROFD_TRY(SetArgument(name, value, request));
  const int kinds = (request.pid != 0 ? 1 : 0) + (request.comm.empty() ? 0 : 1) +
                    (request.labels.empty() ? 0 : 1);
  if (kinds > 1) return Wrong("more than one of pid, comm and service or label is named");
  return request;
}

Result<aggregate::ProfileRef> Scrapes::Run(const Caller& caller, const ScrapeRequest& request,
                                           const std::function<bool()>& gone) {
  auto plan = PlanFor(request);
  if (!plan) return plan.error();
  PROFD_TRY(Confine(caller, parts_.proc, plan->spec.target));
  auto started = parts_.manager.Start(plan->spec, plan->duration_ns, ClientName(caller), kMost);
  if (!started) return started.error();
  const std::shared_ptr<pipeline::Session> session = *started;
  bool left = false;
  while (!left && !session->WaitFinished(kPollInterval)) left = gone();
  Result<aggregate::ProfileRef> result =
      left ? Error{ErrorCode::kUnavailable, "its client has left", ""} : session->result();
  parts_.manager.Release(session);
  return result;
}

Result<std::string> Scrapes::Collect(const Caller& caller, const ScrapeRequest& request,
                                     const std::function<bool()>& gone) {
  PROFD_TRY(CheckOperator(caller, "scrape"));
  {
    const std::scoped_lock lock(mutex_);
    if (running_ == kMost)
      return Error{ErrorCode::kExhausted, std::to_string(kMost) + " scrapes are running",
                   "wait for one to end"};
    ++running_;
  }
  const Result<aggregate::ProfileRef> profile = Run(caller, request, gone);
  const auto encode = [&]() -> Result<std::string> {
    if (!profile) return profile.error();
    const rules::RuleSetRef rules = parts_.rules.Get();
    const fleet::ExportProfile rows = fleet::MakeExportProfile(
        **profile, request.on_cpu_only ? fleet::What::kOnCpu : fleet::What::kWall,
        fleet::Relabelling(), rules.get());
    return fleet::PprofBytes(fleet::EncodePprof(rows), fleet::Compression::kGzip);
  };
  Result<std::string> bytes = encode();
  const std::scoped_lock lock(mutex_);
  --running_;
  return bytes;
}

}  // namespace profd::server
