#include "client/commands/health/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/output_options.h"
#include "client/cli/values.h"
#include "client/commands/common/collect_target.h"
#include "client/commands/common/target_daemon.h"
#include "client/commands/health/doctor_checks.h"
#include "client/link/daemon_choice.h"
#include "client/screens/json/screen_json.h"
#include "client/screens/symbols/module_rows.h"
#include "client/system/exit_code.h"
#include "client/system/output_file.h"
#include "client/system/packages.h"
#include "client/system/stop_signals.h"
#include "client/system/terminal.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kLookNs = 1'000'000'000;  // how long a process is looked at

// One run of the command; its parts are kept in the order in which they must end.
class Examination {
 public:
  Examination(const DoctorOptions& options, const Context& context)
      : options_(options), context_(context) {}

  Result<std::vector<Finding>> Run() {
    Result<std::unique_ptr<StopSignals>> signals = StopSignals::Block();
    if (!signals) return signals.error();
    signals_ = *std::move(signals);
    signals_->Handle([this](int signal, bool /*from_terminal*/) {
      context_.temp_files.RemoveAll();
      ::_exit(128 + signal);
    });
    const auto address = ExplicitAddress(context_.global.host.address);
    if (!address) return address.error();
    const bool here = address->empty() || !UnixSocketPath(*address).empty();
    std::optional<Error> unreachable;
    if (Result<DaemonConnection> connection = Connect(context_, *signals_))
      connection_ = *std::move(connection);
    else
      unreachable = connection.error();
    HostFiles host;
    const char* urls = std::getenv("DEBUGINFOD_URLS");
    if (urls != nullptr && connection_.private_daemon) host.debuginfod_urls = urls;
    if (here) Add(CheckHost(host));
    if (unreachable) {
      findings_.push_back({"profd", Verdict::kFail, unreachable->message, unreachable->hint});
      findings_.push_back({"the rest", Verdict::kUnknown,
                           "hook, rights, losses and processes: this needs a running profd", ""});
    } else {
      LookAtDaemon();
    }
    if (!options_.pid) return std::move(findings_);
    const std::optional<Result<v1::Profile>> seen =
        unreachable ? std::nullopt : std::optional(Collect(*options_.pid));
    if (here) Add(CheckProcess(*options_.pid, host, seen && *seen ? &**seen : nullptr));
    if (seen) JudgeSamples(*seen);
    return std::move(findings_);
  }

 private:
  void Add(std::vector<Finding> findings) {
    std::ranges::move(findings, std::back_inserter(findings_));
  }

  void LookAtDaemon() {
    const Result<v1::StatusResponse> status = connection_.client->Status();
    if (!status) {
      findings_.push_back({"profd", Verdict::kFail, status.error().message, status.error().hint});
      return;
    }
    findings_.push_back({"profd", Verdict::kOk,
                         connection_.private_daemon
                             ? status->version() + ", a private one: no other runs"
                             : status->version() + " runs",
                         ""});
    Add(CheckStatus(*status));
  }

  Result<v1::Profile> Collect(std::uint32_t pid) {
    v1::Target target;
    target.mutable_pids()->add_id(pid);
    v1::CollectRequest request;
    *request.mutable_target() = TargetFromHere(std::move(target));
    request.set_duration_ns(kLookNs);
    request.set_duration_is_default(true);
    CollectCallbacks callbacks;
    callbacks.started = [](const v1::Started&) -> Result<void> { return {}; };
    callbacks.progress = [](const v1::Progress&) -> Result<void> { return {}; };
    return connection_.client->Collect(request, callbacks);
  }

  void JudgeSamples(const Result<v1::Profile>& profile) {
    if (!profile) {
      findings_.push_back(
          {"process", Verdict::kFail, profile.error().message, profile.error().hint});
      return;
    }
    std::map<std::string, std::string> packages;
    for (auto& [path, package] : PackagesOf(ModulesToComplete(*profile)))
      packages[path] = DebugPackage(package);
    Add(CheckSamples(*profile, packages));
  }

  const DoctorOptions& options_;
  const Context& context_;
  std::vector<Finding> findings_;
  DaemonConnection connection_;
  std::unique_ptr<StopSignals> signals_;
};

}  // namespace

DoctorVerb::DoctorVerb()
    : Verb({.name = "doctor",
            .usage = "profctl doctor [-p PID] [--json] [OPTIONS]",
            .summary = "say what keeps profd, or the profile of a process, from being complete, "
                       "and what fixes it",
            .about = "One line for each check: ok, warn, fail, or unknown. Exit "
                     "code 0 when nothing fails, else 1."}) {
  command().Add({.group = kWhatGroup,
                 .names = "-p,--pid",
                 .into = &pids_,
                 .value = "PID",
                 .help = "this process, too: it is profiled for a second",
                 .offer = Offer::kPids});
  AddJson(command(), options_.json, "as JSON");
}

Result<void> DoctorVerb::Take() {
  std::vector<std::uint32_t> ids;
  for (const std::string& text : pids_) PROFD_TRY(ParseIds("-p", text, ids));
  if (ids.size() > 1) return Usage("more than one process is named", "one at a time");
  if (!ids.empty()) options_.pid = ids.front();
  return {};
}

int DoctorVerb::Run(const Context& context) {
  const auto fail = [&](const Error& error) {
    if (!error.message.empty()) context.console.Fail(error);
    return ToInt(ExitCodeOf(error.code));
  };
  const Result<std::vector<Finding>> findings = Examination(options_, context).Run();
  if (!findings) return fail(findings.error());
  const std::string text =
      options_.json ? FindingsJson(*findings)
                    : RenderFindings(*findings, WidthOf(STDOUT_FILENO),
                                     Palette(UseColor(context.global.color, STDOUT_FILENO)));
  const auto written = WriteToStdout(text);
  if (!written) return fail(written.error());
  return ToInt(AnyFailed(*findings) ? ExitCode::kFailure : ExitCode::kOk);
}

}  // namespace profd::client
