#include "client/commands/common/fleet_reports.h"

#include <unistd.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "client/commands/common/fleet_session.h"
#include "client/commands/common/output_plan.h"
#include "client/commands/common/profile_report.h"
#include "client/commands/common/wait_reports.h"
#include "client/fleet/function_table.h"
#include "client/fleet/odd_hosts.h"
#include "client/fleet/service_table.h"
#include "client/profile/stack_names.h"
#include "client/screens/summary/hot_paths.h"
#include "client/system/exit_code.h"
#include "client/system/invoking_user.h"
#include "client/system/output_file.h"
#include "client/system/terminal.h"
#include "client/text/number.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::size_t kFileWidth = 120;  // columns where there is no terminal
constexpr std::size_t kFunctions = 30;
constexpr std::size_t kAllFunctions = 10'000;
constexpr std::size_t kPaths = 20;

ServiceTableOptions LookOf(const Context& context) {
  return {.width = IsTerminal(STDOUT_FILENO) ? WidthOf(STDOUT_FILENO) : kFileWidth,
          .palette = Palette(UseColor(context.global.color, STDOUT_FILENO)),
          .complete = context.global.verbose};
}

// `text`: of a session what is written.
template <typename Text>
int Run(const FleetRequest& request, const Context& context, Text text) {
  const auto session = FleetSession::Open(request, context);
  if (!session) {
    context.console.Fail(session.error());
    return ToInt(ExitCodeOf(session.error().code));
  }
  const Result<std::string> made = text(**session);
  context.console.EndProgress();
  if (!made) return (*session)->ExitCodeOfError(made.error());
  const Result<void> written = WriteToStdout(*made);
  return written ? ToInt(ExitCode::kOk) : (*session)->ExitCodeOfError(written.error());
}

std::string_view WordOf(const HotPath& path) {
  const std::string_view name = WaitName(path.wait);
  return name.empty() ? "blocked" : name;
}

std::string PathLines(const v1::Profile& profile, const ServiceTableOptions& look) {
  std::vector<std::uint32_t> threads(static_cast<std::size_t>(profile.threads_size()));
  std::iota(threads.begin(), threads.end(), 0U);
  const std::uint64_t all = std::accumulate(profile.samples().weight_ns().begin(),
                                            profile.samples().weight_ns().end(), std::uint64_t{0});
  std::string text = look.palette.Paint(Tone::kFaint, "where they wait") + "\n";
  constexpr std::size_t kShareWidth = 8;
  constexpr std::size_t kWordWidth = 8;
  for (const HotPath& path : HotPaths(profile, threads, kPaths))
    text += PadLeft(FormatShare(path.ns, all), kShareWidth) + "  " +
            PadRight(std::string(WordOf(path)), kWordWidth) + "  " +
            PathText(path, look.width - kShareWidth - kWordWidth - 4) + "\n";
  return text;
}

Result<v1::Profile> AskBlocked(FleetSession& session) {
  FleetQuestion question = session.question();
  question.state = "blocked";
  return session.Ask(question);
}

// One text for people or programs, which has more than who ends waits.
bool IsTable(const std::vector<Output>& outputs) {
  return outputs.size() == 1 && outputs[0].path == "-" &&
         (outputs[0].report == Report::kWaits || outputs[0].report == Report::kWaitsJson);
}

Result<std::string> WaitText(FleetSession& session, const v1::Profile& profile, bool json,
                             const Context& context) {
  const ServiceTableOptions look = LookOf(context);
  const ReportLook table_look{
      .width = look.width, .palette = look.palette, .complete = look.complete};
  if (profile.wakers()) {
    context.console.Say(session.wakers());
    auto table = RenderWaitReport(json ? Report::kWaitsJson : Report::kWaits, profile, table_look);
    if (!table || json) return table;
    return *table + "\n" + PathLines(profile, look);
  }
  context.console.Say(
      "on whom threads wait is not exported by these hosts: a history in snapshot mode, the "
      "default, does not see who ends a wait; profctl waits TARGET on a host collects it");
  ReportQuestion report;
  auto keys = ParseReportKeys("wait");
  if (!keys) return keys.error();
  report.keys = *std::move(keys);
  auto table = RenderProfileReport(json ? Report::kReportJson : Report::kReport, profile, report,
                                   {.look = table_look});
  if (!table || json) return table;
  return *table + "\n" + PathLines(profile, look);
}

}  // namespace

int RunFleetList(const FleetTableOptions& options, const Context& context) {
  return Run(options.request, context, [&](FleetSession& session) -> Result<std::string> {
    const auto table = AskServices(session.question(), session.now_s(), session.database());
    if (!table) return table.error();
    session.Say(table->coverage);
    return options.json ? ServicesJson(*table) : RenderServices(*table, LookOf(context));
  });
}

int RunFleetFunctions(const FleetTableOptions& options, const Context& context) {
  return Run(options.request, context, [&](FleetSession& session) -> Result<std::string> {
    const auto table =
        AskFunctions(session.question(), context.global.verbose ? kAllFunctions : kFunctions,
                     session.now_s(), session.database());
    if (!table) return table.error();
    session.Say(table->coverage);
    return RenderFunctions(*table, LookOf(context));
  });
}

int RunFleetOutliers(const FleetTableOptions& options, const Context& context) {
  return Run(options.request, context, [&](FleetSession& session) -> Result<std::string> {
    const auto hosts = AskOddHosts(session.question(), session.now_s(), session.database());
    if (!hosts) return hosts.error();
    session.Say(hosts->coverage);
    return options.json ? OddHostsJson(*hosts) : RenderOddHosts(*hosts, LookOf(context));
  });
}

int RunFleetWaits(const FleetWaitsOptions& options, const Context& context) {
  Result<OutputPlan> plan = OutputPlan::Make(options.output, IsTerminal(STDOUT_FILENO));
  if (!plan) {
    context.console.Fail(plan.error());
    return ToInt(ExitCodeOf(plan.error().code));
  }
  if (IsTable(plan->outputs()))
    return Run(options.request, context, [&](FleetSession& session) -> Result<std::string> {
      const auto profile = AskBlocked(session);
      if (!profile) return profile.error();
      return WaitText(session, *profile, plan->outputs()[0].report == Report::kWaitsJson, context);
    });
  const auto session = FleetSession::Open(options.request, context);
  if (!session) {
    context.console.Fail(session.error());
    return ToInt(ExitCodeOf(session.error().code));
  }
  Result<v1::Profile> profile = AskBlocked(**session);
  context.console.EndProgress();
  if (profile) profile = plan->Restrict(*std::move(profile));
  if (!profile) return (*session)->ExitCodeOfError(profile.error());
  context.console.Say((*session)->wakers());
  const bool written = plan->Write(*profile, InvokingUser::FromEnvironment(), "", context);
  return ToInt(written ? ExitCode::kOk : ExitCode::kFailure);
}

}  // namespace profd::client
