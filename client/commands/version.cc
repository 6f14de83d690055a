#include <unistd.h>

#include "client/commands/commands.h"
#include "client/system/exit_code.h"
#include "client/system/output_file.h"

namespace profd::client {

int RunVersion(const Context& context) {
  const auto written = WriteToStdout("profctl " PROFD_VERSION "\n");
  if (!written && !written.error().message.empty()) context.console.Fail(written.error());
  return ToInt(written ? ExitCode::kOk : ExitCode::kFailure);
}

}  // namespace profd::client
