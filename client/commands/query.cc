#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "client/commands/commands.h"
#include "client/commands/history.h"
#include "client/commands/output_plan.h"
#include "client/link/daemon_choice.h"
#include "client/system/exit_code.h"
#include "client/system/invoking_user.h"
#include "client/system/stop_signals.h"
#include "client/system/terminal.h"

namespace profd::client {
namespace {

Result<bool> Query(const QueryOptions& options, const Context& context) {
  const Result<OutputPlan> plan =
      OutputPlan::Make(options.output, context.exporters, IsTerminal(STDOUT_FILENO));
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
  const std::string footer = "as a flame graph: add -o out.svg      all formats: profctl formats";
  return plan->Write(*profile, InvokingUser::FromEnvironment(), footer, context);
}

}  // namespace

int RunQuery(const QueryOptions& options, const Context& context) {
  const Result<bool> written = Query(options, context);
  if (written) return ToInt(*written ? ExitCode::kOk : ExitCode::kFailure);
  context.console.Fail(written.error());
  return ToInt(ExitCodeOf(written.error().code));
}

}  // namespace profd::client
