#include "client/commands/collect_hosts.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/commands/common/collect_target.h"
#include "client/commands/common/fleet_session.h"
#include "client/commands/common/output_plan.h"
#include "client/fleet/service_hosts.h"
#include "client/hosts/host_list.h"
#include "client/hosts/host_reasons.h"
#include "client/hosts/hosts_collection.h"
#include "client/link/daemon_choice.h"
#include "client/system/exit_code.h"
#include "client/system/invoking_user.h"
#include "client/system/stop_signals.h"
#include "client/system/terminal.h"
#include "client/text/number.h"
#include "client/text/progress_bar.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

std::string Hosts(std::size_t count) {
  return FormatCount(count) + (count == 1 ? " host" : " hosts");
}

std::string ListOf(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string ProgressLine(const HostsProgress& progress, const std::string& target,
                         std::uint64_t duration_ns, std::size_t width) {
  const std::string failed =
      progress.failed == 0 ? "" : ", " + FormatCount(progress.failed) + " failed";
  const std::size_t usable = progress.hosts - progress.failed;
  if (progress.reached < usable)
    return CutMiddle("reaching hosts: " + FormatCount(progress.reached) + " of " +
                         FormatCount(progress.hosts) + failed,
                     width);
  if (progress.answered > 0 || progress.running == 0)
    return CutMiddle("profiles of " + FormatCount(progress.answered) + " of " +
                         FormatCount(progress.hosts) + " hosts" + failed,
                     width);
  CollectionProgress line;
  line.target = target + " on " + FormatCount(usable) + " of " + Hosts(progress.hosts);
  line.elapsed_ns = progress.elapsed_ns;
  line.duration_ns = duration_ns;
  line.samples = progress.samples;
  line.lost = progress.lost;
  return RenderProgress(line, width);
}

// What a stop signal does: the first ends all sessions, a second one profctl. Runs on the thread of
// StopSignals.
class Interruption {
 public:
  Interruption(const Context& context, HostsCollection& collection)
      : context_(context), collection_(collection) {}

  void operator()(int signal, bool /*from_terminal*/) {
    if (std::exchange(seen_, true)) {
      context_.console.EndProgress();
      context_.temp_files.RemoveAll();
      ::_exit(128 + signal);
    }
    context_.console.Say(
        "ending the sessions of all hosts; once more to discard what was collected");
    collection_.Stop();
  }

 private:
  const Context& context_;
  HostsCollection& collection_;
  bool seen_ = false;
};

// The hosts that run the service now, by what they have sent. Those that have been silent for long
// are named.
Result<std::vector<HostAddress>> HostsOfFleet(const CollectOptions& options, FleetSession& session,
                                              const Context& context) {
  const auto found = AskServiceHosts(session.question(), session.now_s(), session.database());
  if (!found) return found.error();
  const auto say = [&](const std::string& what, const std::vector<std::string>& names) {
    if (!names.empty())
      context.console.Say(what + " " + Hosts(names.size()) + ": " + SafeText(ListOf(names)));
  };
  std::vector<std::string> silent;
  for (const SilentHost& host : found->silent)
    silent.push_back(host.host + " (" +
                     FormatSpan(static_cast<std::uint64_t>(host.silent_s * 1e9)) + ")");
  say("left out, as they have sent nothing of it for long:", silent);
  if (found->hosts.empty())
    return Error{ErrorCode::kNotFound,
                 "no host has sent windows of " + SafeText(session.question().Words()) + " lately",
                 "--hosts FILE names hosts; profctl list --fleet shows what they send"};
  auto addresses = AddressesOf(found->hosts, options.host_address);
  if (!addresses) return addresses.error();
  say("left out, as their names are no addresses:", addresses->no_address);
  if (addresses->hosts.empty())
    return Error{ErrorCode::kNotFound, "no host of the fleet has a name that is an address", ""};
  return (*std::move(addresses)).hosts;
}

// What is missing, and why; the exit code for it.
ExitCode SayWhatIsMissing(const HostsResult& result, std::size_t hosts, const Context& context) {
  for (const Error& error : HostReasons(result.failures, hosts)) context.console.Fail(error);
  if (!result.nothing.empty())
    context.console.Say("nothing of the target on " + FormatCount(result.nothing.size()) + " of " +
                        Hosts(hosts) + ": " + ListOf(result.nothing));
  if (!result.other_clocks.empty())
    context.console.Say("clocks that differ from most, corrected: " + ListOf(result.other_clocks));
  if (result.joined == 0 && result.stopped) return ExitCode::kInterrupted;
  if (!result.failures.empty())
    return result.joined > 0 ? ExitCode::kPartial : ExitCodeOf(result.failures.front().error.code);
  return result.joined > 0 ? ExitCode::kOk : ExitCode::kNoData;
}

Result<HostsResult> Collect(HostsCollection& collection, const CollectOptions& options,
                            std::uint64_t duration_ns, const Context& context) {
  const std::string target = TargetArguments(options.target, false);
  const TlsFiles tls = ExplicitTlsFiles(context.global.host.tls);
  auto result = collection.Run(tls, [&](const HostsProgress& progress) {
    context.console.ShowProgress(
        [&](std::size_t width) { return ProgressLine(progress, target, duration_ns, width); });
  });
  context.console.EndProgress();
  return result;
}

}  // namespace

int RunCollectHosts(const CollectOptions& options, const Context& context) {
  const auto fail = [&](const Error& error) {
    context.console.Fail(error);
    return ToInt(ExitCodeOf(error.code));
  };
  Result<OutputPlan> plan = OutputPlan::Make(options.output, IsTerminal(STDOUT_FILENO));
  if (!plan) return fail(plan.error());
  const std::optional<InvokingUser> user = InvokingUser::FromEnvironment();
  Result<std::vector<HostAddress>> hosts = std::vector<HostAddress>();
  if (options.fleet) {
    // The files on the command line are for the hosts.
    const auto session = FleetSession::Open(*options.fleet, context, TlsFiles());
    if (!session) return fail(session.error());
    hosts = HostsOfFleet(options, **session, context);
    if (!hosts) return (*session)->ExitCodeOfError(hosts.error());
  } else {
    hosts = ReadHostList(options.hosts);
    if (!hosts) return fail(hosts.error());
  }
  // After the session of the fleet, which has its own.
  Result<std::unique_ptr<StopSignals>> signals = StopSignals::Block();
  if (!signals) return fail(signals.error());
  const std::size_t count = hosts->size();
  const v1::CollectRequest request = RequestFor(options, TargetOnHosts(options.target));
  HostsLimits limits;
  if (options.host_timeout_ns) limits.patience_ns = *options.host_timeout_ns;
  HostsCollection collection(*std::move(hosts), request, limits);
  // Ends before the collection, which its thread uses.
  const std::unique_ptr<StopSignals> watched = *std::move(signals);
  watched->Handle(Interruption(context, collection));
  Result<HostsResult> result = Collect(collection, options, request.duration_ns(), context);
  if (!result) return fail(result.error());
  const ExitCode code = SayWhatIsMissing(*result, count, context);
  if (result->joined == 0) {
    if (result->failures.empty() && !result->stopped)
      context.console.Fail(
          {ErrorCode::kNotFound, "no data: nothing of the target on any host", ""});
    return ToInt(code);
  }
  context.console.Say("one profile of " + FormatCount(result->joined) + " of " + Hosts(count));
  Result<v1::Profile> profile = plan->Restrict(std::move(result->profile));
  if (!profile) return fail(profile.error());
  const std::string from = options.fleet ? "--fleet" : "--hosts " + SafeText(options.hosts);
  const std::string footer = "which host:  profctl collect " + from + " " +
                             TargetArguments(options.target, false) + " --group-by host";
  if (!plan->Write(*profile, user, footer, context)) return ToInt(ExitCode::kFailure);
  return ToInt(code);
}

}  // namespace profd::client
