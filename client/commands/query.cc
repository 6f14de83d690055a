#include "client/commands/query.h"

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "client/cli/time_values.h"
#include "client/cli/values.h"
#include "client/commands/common/fleet_session.h"
#include "client/commands/common/history.h"
#include "client/commands/common/output_plan.h"
#include "client/link/daemon_choice.h"
#include "client/system/exit_code.h"
#include "client/system/invoking_user.h"
#include "client/system/stop_signals.h"
#include "client/system/terminal.h"

namespace profd::client {
namespace {

constexpr const char* kFooter =
    "as a flame graph: add -o out.svg      all formats: profctl formats";

int QueryFleet(const QueryOptions& options, const Context& context) {
  Result<OutputPlan> plan = OutputPlan::Make(options.output, IsTerminal(STDOUT_FILENO));
  if (!plan) {
    context.console.Fail(plan.error());
    return ToInt(ExitCodeOf(plan.error().code));
  }
  const auto session = FleetSession::Open(*options.fleet, context);
  if (!session) {
    context.console.Fail(session.error());
    return ToInt(ExitCodeOf(session.error().code));
  }
  Result<v1::Profile> requested = (*session)->Ask((*session)->question());
  if (!requested) return (*session)->ExitCodeOfError(requested.error());
  const Result<v1::Profile> profile = plan->Restrict(*std::move(requested));
  if (!profile) return (*session)->ExitCodeOfError(profile.error());
  if (plan->WhatNeedsWakers() != nullptr && profile->wakers())
    context.console.Say((*session)->wakers());
  const bool written = plan->Write(*profile, InvokingUser::FromEnvironment(), kFooter, context);
  return ToInt(written ? ExitCode::kOk : ExitCode::kFailure);
}

Result<bool> Query(const QueryOptions& options, const Context& context) {
  Result<OutputPlan> plan = OutputPlan::Make(options.output, IsTerminal(STDOUT_FILENO));
  if (!plan) return plan.error();
  // Only the temporary files have to be looked after: asking may be broken off at any time.
  const Result<std::unique_ptr<StopSignals>> signals = StopSignals::Block();
  if (!signals) return signals.error();
  (*signals)->Handle([&](int signal, bool /*from_terminal*/) {
    context.temp_files.RemoveAll();
    ::_exit(128 + signal);
  });
  const auto client = ConnectToRunning(context.global.host);
  if (!client) return client.error();
  Result<v1::Profile> requested = AskHistory(options.question, **client);
  if (!requested) return requested.error();
  const Result<v1::Profile> profile = plan->Restrict(*std::move(requested));
  if (!profile) return profile.error();
  return plan->Write(*profile, InvokingUser::FromEnvironment(), kFooter, context);
}

}  // namespace

QueryVerb::QueryVerb()
    : Verb({.name = "query",
            .usage = "profctl query [--since SPAN | --from TIME --to TIME] [WHO]...\n"
                     "                     [-o FILE]... [OPTIONS]\n"
                     "       profctl query --fleet URL --service NAME [OPTIONS]",
            .summary = "show where time was spent, from the history that profd keeps",
            .about =
                "As collect, but of the past. Without -o it prints a summary on a terminal "
                "and folded stacks into a pipe. The history consists of windows: those at both "
                "ends are part of the result as a whole.",
            .footer = "Examples:\n"
                      "  profctl query --since 1h\n"
                      "  profctl query --from 14:05 --to 14:20 --unit nginx -o out.svg\n"
                      "  profctl query --since 1d --group-by unit\n"
                      "  profctl query --since 1h --filter 'module ~ libssl and state = running'\n"
                      "  profctl query --fleet clickhouse://HOST/profd --service cart -o cart.svg\n"
                      "\n"
                      "Exit codes: 0 ok, 1 failure, 2 usage, 3 no data, 4 profd unreachable,\n"
                      "5 permission denied."}) {
  AddTimes(command(), raw_.times);
  AddFilters(command(), raw_.filters);
  AddFleet(command(), raw_.fleet);
  AddOutput(command(), raw_.output);
  AddGroupBy(command(), raw_.group_by, "the rows of the table and the first frame of stacks");
}

Result<void> QueryVerb::TakeFleet() {
  auto fleet = ParseFleet(raw_.fleet, raw_.filters, raw_.times, NowUnixNs());
  if (!fleet) return fleet.error();
  PROFD_TRY(CheckService(fleet->question));
  options_ = {.question = {}, .fleet = *std::move(fleet), .output = raw_.output};
  if (raw_.group_by.empty()) {
    options_.fleet->question.apart = {FleetKey::kVersion};
    return {};
  }
  if (const auto key = FleetKeyNamed(raw_.group_by); key) {
    options_.fleet->question.apart = {*key};
    options_.output.group_by = GroupKey::kProcess;
    return {};
  }
  if (raw_.group_by != "thread")
    return Usage("--group-by " + raw_.group_by + " is not for fleets",
                 "it is " + FleetKeyNames() + " or thread");
  options_.output.group_by = GroupKey::kThread;
  return {};
}

Result<void> QueryVerb::Take() {
  if (raw_.fleet.requested()) return TakeFleet();
  PROFD_TRY(CheckNoFleet(raw_.fleet));
  auto question = ParseQuestion(raw_.times, raw_.filters, NowUnixNs());
  if (!question) return question.error();
  options_ = {.question = *std::move(question), .output = raw_.output};
  const auto key = ParseGroupBy(raw_.group_by);
  if (!key) return key.error();
  options_.output.group_by = *key;
  return {};
}

int RunQuery(const QueryOptions& options, const Context& context) {
  if (options.fleet) return QueryFleet(options, context);
  const Result<bool> written = Query(options, context);
  if (written) return ToInt(*written ? ExitCode::kOk : ExitCode::kFailure);
  context.console.Fail(written.error());
  return ToInt(ExitCodeOf(written.error().code));
}

}  // namespace profd::client
