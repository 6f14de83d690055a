#include "client/commands/export.h"

#include <unistd.h>

#include "client/cli/values.h"
#include "client/commands/common/output_plan.h"
#include "client/commands/common/profile_file.h"
#include "client/system/exit_code.h"
#include "client/system/invoking_user.h"
#include "client/system/stop_signals.h"
#include "client/system/terminal.h"

namespace profd::client {
namespace {

Result<bool> Export(const ExportCommandOptions& options, const Context& context) {
  Result<OutputPlan> plan = OutputPlan::Make(options.output, IsTerminal(STDOUT_FILENO));
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

ExportVerb::ExportVerb()
    : Verb({.name = "export",
            .usage = "profctl export FILE.json [-o FILE]... [OPTIONS]",
            .summary = "make other formats from a json file of collect",
            .about = "Needs no profd. Without -o it prints a summary on a terminal and folded "
                     "stacks into a pipe; the file - is standard input.",
            .footer = "Example:\n  profctl export out.json -o out.svg -o out.pb.gz"}) {
  command().Add({.names = "FILE", .into = &options_.input, .offer = Offer::kFiles});
  AddOutput(command(), options_.output);
}

Result<void> ExportVerb::Take() {
  if (options_.input.empty())
    return Usage("no file is named", "as in profctl export out.json -o out.svg");
  return {};
}

int RunExport(const ExportCommandOptions& options, const Context& context) {
  const Result<bool> exported = Export(options, context);
  if (exported) return ToInt(*exported ? ExitCode::kOk : ExitCode::kFailure);
  context.console.Fail(exported.error());
  return ToInt(ExitCodeOf(exported.error().code));
}

}  // namespace profd::client
