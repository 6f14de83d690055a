#include "client/commands/common/fleet_session.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "client/cli/time_values.h"
#include "client/cli/values.h"
#include "client/fleet/fleet_password.h"
#include "client/fleet/fleet_profile.h"
#include "client/fleet/fleet_tls.h"
#include "client/profile/profile_facts.h"
#include "client/system/exit_code.h"
#include "client/text/number.h"
#include "daemon/base/http/http_client.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr double kShownShare = 0.0005;  // what FormatShare does not round to nothing

}  // namespace

FleetSession::FleetSession(const FleetRequest& request, const Context& context)
    : context_(context), question_(request.question), now_s_(NowUnixNs() / kNsPerSecond) {
  if (std::vector<std::string> hosts = HostsOf(context.global.host.address); !hosts.empty())
    question_.fits[FleetKey::kHost] = std::move(hosts);
}

Result<std::unique_ptr<FleetSession>> FleetSession::Open(const FleetRequest& request,
                                                         const Context& context,
                                                         const TlsFiles& named) {
  auto password = FleetPassword(request.password_file);
  if (!password) return password.error();
  auto tls = FleetTlsFiles(named, request.address);
  if (!tls) return tls.error();
  std::unique_ptr<FleetSession> session(new FleetSession(request, context));
  HttpClient::PrepareProcess();
  auto signals = StopSignals::Block();
  if (!signals) return signals.error();
  session->signals_ = *std::move(signals);
  FleetSession* const of = session.get();
  of->signals_->Handle([of](int signal, bool /*from_terminal*/) {
    // The second one ends what the first one could not.
    if (of->signal_.exchange(signal) == 0) return;
    of->context_.temp_files.RemoveAll();
    ::_exit(128 + signal);
  });
  session->database_ = std::make_unique<FleetDatabase>(
      FleetDatabase::Options{.address = request.address,
                             .password = *std::move(password),
                             .tls = *std::move(tls),
                             .is_cancelled = [of] { return of->IsCancelled(); }});
  return session;
}

bool FleetSession::IsCancelled() {
  const std::uint64_t spent_ns = NowUnixNs() - began_ns_;
  if (began_ns_ != 0 && spent_ns > kNsPerSecond)
    context_.console.ShowProgress([&](std::size_t /*width*/) {
      return "the fleet answers ... " + FormatDuration(spent_ns / kNsPerSecond * kNsPerSecond);
    });
  return signal_ != 0;
}

Result<v1::Profile> FleetSession::Ask(const FleetQuestion& question) {
  began_ns_ = NowUnixNs();
  Result<FleetAnswer> answer = AskFleet(question, now_s_, *database_);
  began_ns_ = 0;
  context_.console.EndProgress();
  if (!answer) return answer.error();
  Say(answer->coverage);
  wakers_ = std::move(answer->wakers);
  v1::Profile profile = std::move(answer->profile);
  profile.set_target(question.Words() + ", " + FormatCount(answer->coverage.hosts, "host") + ", " +
                     CoveredRange(profile));
  std::uint64_t all_ns = 0;
  for (const std::uint64_t ns : profile.samples().weight_ns()) all_ns += ns;
  for (const v1::NamedCount& count : profile.counters()) {
    if (count.name() == kStacksMissing || count.name() == kPathsMissing)
      context_.console.Say("note: " + FormatCount(count.count()) + " " + count.text());
    if (count.name() == kRestNs && ShareOf(count.count(), all_ns) >= kShownShare)
      context_.console.Say("note: " + FormatShare(count.count(), all_ns) +
                           " of the time is in (other): stacks that a limit has cut off");
  }
  return profile;
}

void FleetSession::Say(const Coverage& coverage) {
  for (const std::string& line : CoverageLines(coverage)) context_.console.Say(line);
}

int FleetSession::ExitCodeOfError(const Error& error) const {
  if (const int signal = signal_; signal != 0) {
    context_.temp_files.RemoveAll();
    return 128 + signal;
  }
  if (!error.message.empty()) context_.console.Fail(error);
  return ToInt(ExitCodeOf(error.code));
}

std::vector<std::string> HostsOf(const std::string& text) {
  std::vector<std::string> hosts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    if (comma > begin) hosts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return hosts;
}

std::string CoveredRange(const v1::Profile& profile) {
  return FormatRange(profile.start_unix_ns(), profile.start_unix_ns() + LengthNs(profile));
}

Result<void> CheckService(const FleetQuestion& question) {
  if (!question.service.empty()) return {};
  return Usage("no service is named", "--service NAME; profctl list --fleet shows which there are");
}

}  // namespace profd::client
