#include <unistd.h>

#include "client/commands/commands.h"
#include "client/commands/output_plan.h"
#include "client/commands/profile_file.h"
#include "client/system/exit_code.h"
#include "client/system/invoking_user.h"
#include "client/system/stop_signals.h"
#include "client/system/terminal.h"

namespace profd::client {
namespace {

Result<bool> Export(const ExportCommandOptions& options, const Context& context) {
  const Result<OutputPlan> plan =
      OutputPlan::Make(options.output, context.exporters, IsTerminal(STDOUT_FILENO));
  if (!plan) return plan.error();
  Result<v1::Profile> read = ReadProfileFile(options.input);
  if (!read) return read.error();
  const Result<v1::Profile> profile = plan->Restrict(*std::move(read));
  if (!profile) return profile.error();
  // Only the temporary files have to be looked after: reading may be broken off at any time.
  const Result<std::unique_ptr<StopSignals>> signals = StopSignals::Block();
  if (!signals) return signals.error();
  (*signals)->Handle([&](int signal, bool /*from_terminal*/) {
    context.temp_files.RemoveAll();
    ::_exit(128 + signal);
  });
  const std::string footer = "as a flame graph: profctl export " + options.input + " -o out.svg";
  return plan->Write(*profile, InvokingUser::FromEnvironment(), footer, context);
}

}  // namespace

int RunExport(const ExportCommandOptions& options, const Context& context) {
  const Result<bool> exported = Export(options, context);
  if (exported) return ToInt(*exported ? ExitCode::kOk : ExitCode::kFailure);
  context.console.Fail(exported.error());
  return ToInt(ExitCodeOf(exported.error().code));
}

}  // namespace profd::client
