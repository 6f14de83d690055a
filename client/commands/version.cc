#include <unistd.h>

#include "client/commands/commands.h"
#include "client/exit_code.h"
#include "client/output_file.h"

namespace profd::commands {

int RunVersion(const Context& context) {
  const auto written = client::WriteToStdout("profctl " PROFD_VERSION "\n");
  if (!written && !written.error().message.empty()) context.console.Fail(written.error());
  return ToInt(written ? client::ExitCode::kOk : client::ExitCode::kFailure);
}

}  // namespace profd::commands
