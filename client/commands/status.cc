#include <unistd.h>

#include "client/commands/commands.h"
#include "client/daemon_choice.h"
#include "client/exit_code.h"
#include "client/output_file.h"
#include "client/terminal.h"
#include "client/view/status_view.h"

namespace profd::commands {

int RunStatus(const StatusOptions& options, const Context& context) {
  const auto fail = [&](const Error& error) {
    if (!error.message.empty()) context.console.Fail(error);
    return ToInt(client::ExitCodeOf(error.code));
  };
  const auto client = client::ConnectToRunning(context.global.host);
  if (!client) return fail(client.error());
  const Result<v1::StatusResponse> status = (*client)->Status();
  if (!status) return fail(status.error());
  const std::string text =
      options.json
          ? view::StatusJson(*status)
          : view::RenderStatus(*status, client::WidthOf(STDOUT_FILENO),
                               view::Palette(client::UseColor(context.global.color, STDOUT_FILENO)),
                               context.global.verbose);
  const auto written = client::WriteToStdout(text);
  return written ? ToInt(client::ExitCode::kOk) : fail(written.error());
}

}  // namespace profd::commands
