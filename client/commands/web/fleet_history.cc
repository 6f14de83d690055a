#include "client/commands/web/fleet_history.h"

#include <cmath>
#include <utility>

#include "client/cli/time_values.h"
#include "client/cli/values.h"
#include "client/commands/common/fleet_session.h"
#include "client/fleet/fleet_answers.h"
#include "client/fleet/fleet_password.h"
#include "client/fleet/fleet_tls.h"
#include "client/fleet/row_reader.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kKeptSeconds = 14ull * 86'400;  // samples; clocks are kept longer

Result<FleetQuestion> Narrowed(FleetQuestion question, const v1::HistoryFilter& filter) {
  if (filter.pid_size() > 0 || filter.user_size() > 0 || filter.cgroup_size() > 0)
    return Usage("a fleet knows no pids, users and cgroups", "filter by version, unit or thread");
  for (const std::string& comm : filter.comm()) {
    std::string version = comm;
    if (version.starts_with(question.service + " ")) version.erase(0, question.service.size() + 1);
    question.fits[FleetKey::kVersion].push_back(version);
  }
  for (const auto& [key, values] : {std::pair(FleetKey::kUnit, &filter.unit()),
                                    {FleetKey::kContainer, &filter.container()},
                                    {FleetKey::kExecutable, &filter.executable()}})
    question.fits[key].insert(question.fits[key].end(), values->begin(), values->end());
  question.threads.insert(question.threads.end(), filter.thread().begin(), filter.thread().end());
  return question;
}

}  // namespace

FleetHistory::FleetHistory(FleetQuestion question, FleetDatabase::Options options)
    : question_(std::move(question)), database_(std::move(options)) {}

Result<std::unique_ptr<FleetHistory>> FleetHistory::Open(const FleetRequest& request,
                                                         const Context& context) {
  auto password = FleetPassword(request.password_file);
  if (!password) return password.error();
  auto tls = FleetTlsFiles(context.global.host.tls, request.address);
  if (!tls) return tls.error();
  FleetQuestion question = request.question;
  question.apart = {FleetKey::kVersion};
  question.fits[FleetKey::kHost] = HostsOf(context.global.host.address);
  return std::unique_ptr<FleetHistory>(new FleetHistory(
      std::move(question),
      {.address = request.address, .password = *std::move(password), .tls = *std::move(tls)}));
}

Result<v1::Profile> FleetHistory::Ask(const HistoryQuestion& question) {
  auto of = Narrowed(question_, question.request.filter());
  if (!of) return of.error();
  const std::uint64_t now_unix_ns = NowUnixNs();
  SetRange(question.request, now_unix_ns, *of);
  const std::scoped_lock lock(mutex_);
  Result<FleetAnswer> answer = AskFleet(*of, now_unix_ns / kNsPerSecond, database_);
  if (!answer) return answer.error();
  answer->profile.set_target(of->Words() + ", " + CoveredRange(answer->profile));
  return std::move(answer->profile);
}

Result<v1::StatusResponse> FleetHistory::Status() {
  FleetQuestion kept = question_;
  kept.to_s = NowUnixNs() / kNsPerSecond + 1;
  kept.from_s = kept.to_s - kKeptSeconds;
  const FleetCondition condition = ConditionOf(kept, FleetTable::kClock);
  const std::scoped_lock lock(mutex_);
  const auto answer = database_.Select(
      "SELECT toUInt64(uniqExact(host, time)), toUInt32(min(time)), toUInt32(max(time)) FROM clock "
      "WHERE " +
          condition.sql,
      condition.parameters);
  if (!answer) return answer.error();
  RowReader reader(*answer);
  v1::StatusResponse status;
  v1::HistoryStatus& history = *status.mutable_history();
  constexpr std::uint64_t kWindowSeconds = 60;
  history.set_windows(reader.Number64());
  history.set_first_unix_ns(reader.Number32() * kNsPerSecond);
  history.set_last_unix_ns((reader.Number32() + kWindowSeconds) * kNsPerSecond);
  history.set_window_ns(kWindowSeconds * kNsPerSecond);
  PROFD_TRY(reader.error());
  return status;
}

}  // namespace profd::client
