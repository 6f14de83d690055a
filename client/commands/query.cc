#include <unistd.h>

#include <string>
#include <utility>

#include "client/commands/commands.h"
#include "client/commands/output_plan.h"
#include "client/commands/time_values.h"
#include "client/daemon_choice.h"
#include "client/exit_code.h"
#include "client/invoking_user.h"
#include "client/stop_signals.h"
#include "client/terminal.h"
#include "client/view/number.h"

namespace profd::commands {
namespace {

// What the history has, for who asked for something else.
std::string Extent(client::GrpcClient& client) {
  const auto status = client.Status();
  if (!status || !status->has_history()) return "profctl status says what there is";
  const v1::HistoryStatus& history = status->history();
  if (history.windows() == 0)
    return "nothing is kept yet: the first window ends " +
           view::FormatDuration(history.window_ns()) + " after profd's start";
  return "the history has " + FormatRange(history.first_unix_ns(), history.last_unix_ns()) + " (" +
         view::FormatSpan(history.last_unix_ns() - history.first_unix_ns()) + ")";
}

Result<v1::Profile> Ask(const QueryOptions& options, client::GrpcClient& client) {
  Result<v1::Profile> profile = client.Query(options.request);
  if (!profile) {
    if (profile.error().code != ErrorCode::kNotFound) return profile.error();
    return Error{ErrorCode::kNotFound, "no data: nothing is kept of " + options.range,
                 Extent(client)};
  }
  const std::uint64_t end_unix_ns =
      profile->start_unix_ns() + (profile->end_ns() - profile->start_ns());
  const std::string covered = FormatRange(profile->start_unix_ns(), end_unix_ns);
  if (profile->threads_size() == 0)
    return Error{ErrorCode::kNotFound, "no data: no thread of " + options.who + " in " + covered,
                 "profctl list shows who there was"};
  profile->set_target(options.who + ", " + covered);
  return profile;
}

Result<bool> Query(const QueryOptions& options, const Context& context) {
  const Result<OutputPlan> plan =
      OutputPlan::Make(options.output, context.exporters, client::IsTerminal(STDOUT_FILENO));
  if (!plan) return plan.error();
  // Only the temporary files have to be looked after: asking may be broken off at any time.
  const Result<std::unique_ptr<client::StopSignals>> signals = client::StopSignals::Block();
  if (!signals) return signals.error();
  (*signals)->Handle([&](int signal, bool /*from_terminal*/) {
    context.temp_files.RemoveAll();
    ::_exit(128 + signal);
  });
  const auto client = client::ConnectToRunning(context.global.host);
  if (!client) return client.error();
  Result<v1::Profile> asked = Ask(options, **client);
  if (!asked) return asked.error();
  const Result<v1::Profile> profile = plan->Restrict(*std::move(asked));
  if (!profile) return profile.error();
  const std::string footer = "as a flame graph: add -o out.svg      all formats: profctl formats";
  return plan->Write(*profile, client::InvokingUser::FromEnvironment(), footer, context);
}

}  // namespace

int RunQuery(const QueryOptions& options, const Context& context) {
  const Result<bool> written = Query(options, context);
  if (written) return ToInt(*written ? client::ExitCode::kOk : client::ExitCode::kFailure);
  context.console.Fail(written.error());
  return ToInt(client::ExitCodeOf(written.error().code));
}

}  // namespace profd::commands
