#include "client/commands/health/status.h"

#include <unistd.h>

#include "client/cli/output_options.h"
#include "client/link/daemon_choice.h"
#include "client/screens/json/screen_json.h"
#include "client/screens/status/status_view.h"
#include "client/system/exit_code.h"
#include "client/system/output_file.h"
#include "client/system/terminal.h"

namespace profd::client {

StatusVerb::StatusVerb()
    : Verb({.name = "status",
            .usage = "profctl status [--json] [OPTIONS]",
            .summary = "show what profd does and what it costs"}) {
  AddJson(command(), json_, "as JSON");
}

int StatusVerb::Run(const Context& context) {
  const auto fail = [&](const Error& error) {
    if (!error.message.empty()) context.console.Fail(error);
    return ToInt(ExitCodeOf(error.code));
  };
  const auto client = ConnectToRunning(context.global.host);
  if (!client) return fail(client.error());
  const Result<v1::StatusResponse> status = (*client)->Status();
  if (!status) return fail(status.error());
  const std::string text =
      json_ ? StatusJson(*status)
            : RenderStatus(*status, WidthOf(STDOUT_FILENO),
                           Palette(UseColor(context.global.color, STDOUT_FILENO)),
                           context.global.verbose);
  const auto written = WriteToStdout(text);
  return written ? ToInt(ExitCode::kOk) : fail(written.error());
}

}  // namespace profd::client
